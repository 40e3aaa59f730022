import './notify.css';
import './diff.css';
import './history.css';
import './blocks.css';
import './changes.css';
import './review.css';
import './connect.css';
import './badges.css';
