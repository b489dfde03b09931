//! Tests of the catalogue through its public door.

mod decisions;
mod secrets;
mod json_schema;
mod permission;
mod recorded;
mod upid;
