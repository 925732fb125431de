"""Lock files of what is installed, and the commands that write and audit them."""
