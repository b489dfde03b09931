//! `user.cfg`: read with Proxmox's warnings, written as Proxmox writes it.
//!
//! One record per line, fields between colons, the kind first: `user`, `group`, `role`, `acl`, `pool`, `token`. Names
//! and comments are percent-encoded where they hold a colon, a control character or anything beyond ASCII.

mod read;
mod write;
