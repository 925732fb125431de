"""Makes a bundle's vocabulary shortlist from its own translations; docs/explanation/shortlist.md tells how."""
