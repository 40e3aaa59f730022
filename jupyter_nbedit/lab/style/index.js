import './notify.css';
import './diff.css';
import './history.css';
import './review.css';
import './connect.css';
