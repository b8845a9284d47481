"""`afk view`: play any task and watch any agent in the browser, from a server on this machine."""
