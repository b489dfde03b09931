//! The shells of fake-pve's nodes: not written yet.
//!
//! This package will hold an SSH server whose `pct` and `qm` act on the guests of a joined [`fake_pve`] cluster, in a real,
//! confined shell. Until then it holds nothing, and nothing pretends otherwise.
