"""Makes a bundle's vocabulary shortlist from its own translations; docs/shortlist.md tells how."""
