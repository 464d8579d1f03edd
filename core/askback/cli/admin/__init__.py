"""What whoever runs askback asks of it from a shell, beside the running bot."""
