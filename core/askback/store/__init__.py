"""The store keeps everything that must survive a restart, as rows of a database."""
