//! What all node programs share: options, usage, tables.
