//! The server as a wire sees it.
