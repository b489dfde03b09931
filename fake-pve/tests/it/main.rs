//! fake-pve from outside: over HTTPS, the way clients see it.

mod access;
mod agent;
mod backup_jobs;
mod bulk;
mod client;
mod cluster;
mod console;
mod fetch;
mod generic;
mod import;
mod migrate;
mod pipeline;
mod power;
mod program;
mod replay;
mod snapshot;
mod statistics;
mod storage;
mod task;
mod tasks;
mod upload;
mod volumes;
mod vzdump;
mod walk;
