//! Tests of the catalogue through its public door.

mod advice;
mod decisions;
mod examples;
mod format;
mod json_schema;
mod oracle;
mod permission;
mod recorded;
mod upid;
mod verify;
mod words;
