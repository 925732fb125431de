"""Make a bundle's vocabulary shortlist from its own translations; see docs/explanation/shortlist.md."""
