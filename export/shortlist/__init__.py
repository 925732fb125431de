"""Creation of a vocabulary shortlist from a bundle's own translations; see docs/explanation/shortlist.md."""
