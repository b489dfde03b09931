//! Tests of the catalogue through its public door.

mod decisions;
mod json_schema;
mod permission;
mod recorded;
mod secrets;
mod upid;
