//! Tests of the catalogue through its public door.

mod decisions;
mod secrets;
