//! Recorded requests put to the fake, and its answers held against the recorded ones.
//!
//! `PVE_FACTS` names the folder of the whole recording; without it the committed sample is replayed. Totals are printed,
//! the scoreboard with the first differences goes to `target/tmp/replay.txt`, the place of every differing step to
//! `target/tmp/replay-differing.txt` (compare two runs with `diff`). `FAKE_PVE_REPLAY=<part of a path>` keeps only
//! the calls whose `VERB path` holds that text and prints every difference in full.

mod board;
mod compare;
mod evidence;
mod files;
mod http;
mod normal;
mod recording;
mod seed;
mod step;

use board::Board;
use recording::Recording;

/// What must be reached: neither less nor more, so that a landing improvement raises the numbers.
const FLOOR: &str = include_str!("../replay-floor.toml");

#[tokio::test]
async fn recorded_calls_are_answered_as_recorded() {
    let recording = Recording::find();
    let mut board = Board::new(recording.filter.clone());
    for (name, lines) in &recording.transcripts {
        let world = seed::world();
        step::in_order(name, world, lines, &mut board);
    }
    for (name, lines) in &recording.vectors {
        let world = if name.contains("exec-vectors-D") { seed::world_with_more() } else { seed::world() };
        step::each_from(name, &world, lines, &mut board);
    }
    http::exchanges(&recording.exchanges, &mut board).await;
    board.publish();
    if recording.filter.is_none() {
        board.judge(FLOOR, recording.whole);
        let needless = if recording.whole { evidence::Evidence::rules().needless() } else { Vec::new() };
        assert!(needless.is_empty(), "rules without a step that needs them:\n{}", needless.join("\n"));
    }
}
