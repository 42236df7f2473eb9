"""What is studied: masked moments, one file a family of norms, and the catalogue."""
