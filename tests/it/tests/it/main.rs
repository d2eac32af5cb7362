//! Everything through HTTP and the queue.
