//! Tests of the catalogue through its public door.

mod advice;
mod decisions;
mod examples;
mod format;
mod imported;
mod json_schema;
mod oracle;
mod permission;
mod property;
mod recorded;
mod secrets;
mod upid;
mod verify;
mod words;
