import './base.css';
import './diff.css';
<<<<<<< HEAD
import './history.css';
=======
import './review.css';
>>>>>>> f8fc5aa (WIP review)
