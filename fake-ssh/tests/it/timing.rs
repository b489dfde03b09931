//! How long things take: printed, and held to a generous bound.

use std::io::Write as _;
use std::time::{Duration, Instant};

use crate::client::{Place, confined};

/// What anything may take in an unoptimised build on a busy machine.
const BOUND: Duration = Duration::from_millis(500);

#[tokio::test(flavor = "multi_thread")]
async fn commands_start_soon() {
    if !confined("timing") {
        return;
    }
    let place = Place::cluster().await;
    let first = Instant::now();
    let root = place.root().await;
    root.run("true").await.ok();
    let mut lines = vec![("login and first command", first.elapsed())];
    root.run("pct start 200").await.ok();
    for command in ["true", "qm list", "pct exec 200 -- true"] {
        let mut times = Vec::new();
        for _ in 0..15 {
            let before = Instant::now();
            assert_eq!(root.run(command).await.status, Some(0));
            times.push(before.elapsed());
        }
        times.sort();
        lines.push((command, times[7]));
    }
    for (what, time) in lines {
        let _told = writeln!(std::io::stdout(), "{what}: {:.1} ms", time.as_secs_f64() * 1000.0);
        assert!(time < BOUND, "{what}: {time:?}");
    }
}
