"""Claims about training: which runs they need (`needs`), how they are trained, what is kept of them."""
