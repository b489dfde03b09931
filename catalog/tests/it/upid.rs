//! Task identifiers: read back what is written, refuse what is not one, never panic.

use std::collections::BTreeSet;

use proptest::prelude::*;
use pve_catalog::upid::{Upid, encode_id};

use crate::recorded;

#[test]
fn a_task_identifier_is_taken_apart() {
    let text = "UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam!ci:";
    let upid: Upid = text.parse().expect("a task identifier");
    assert_eq!(
        (upid.node.as_str(), upid.pid, upid.pstart, upid.starttime),
        ("pve1", 241_895, 15_835_827, 1_721_807_298)
    );
    assert_eq!((upid.worker_type.as_str(), upid.vmid()), ("qmstart", Some(100)));
    assert_eq!(upid.owner(), ("root@pam", Some("ci")));
    assert_eq!(upid.log_folder(), '2');
    assert_eq!(upid.to_string(), text);
}

#[test]
fn what_is_not_one_is_refused_with_a_reason() {
    let refused = [
        ("", "nine parts"),
        ("UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam", "nine parts"),
        ("upid:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam:", "begin with"),
        ("UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam:x", "end with"),
        ("UPID:../x:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam:", "node"),
        ("UPID:pve1:3B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam:", "pid"),
        ("UPID:pve1:+003B0E7:00F1A2B3:66A0B1C2:qmstart:100:root@pam:", "pid"),
        ("UPID:pve1:0003B0E7:0000F1A2B3:66A0B1C2:qmstart:100:root@pam:", "pstart"),
        ("UPID:pve1:0003B0E7:00F1A2B3:166A0B1C2:qmstart:100:root@pam:", "starttime"),
        ("UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2::100:root@pam:", "type"),
        ("UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:1/0:root@pam:", "id"),
        ("UPID:pve1:0003B0E7:00F1A2B3:66A0B1C2:qmstart:100::", "user"),
    ];
    for (text, reason) in refused {
        let error = text.parse::<Upid>().expect_err(text).to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

#[test]
fn recorded_identifiers_are_written_back() {
    let Some(vectors) = recorded::lines("oracle/exec-vectors-A.jsonl.gz") else { return };
    let text: String = vectors.iter().map(|vector| vector.to_string() + "\n").collect();
    let found: BTreeSet<&str> =
        text.match_indices("UPID:").filter_map(|(at, _)| text[at..].split(['"', ' ', '\\']).next()).collect();
    let whole: Vec<&&str> = found.iter().filter(|upid| upid.ends_with(':')).collect();
    assert!(whole.len() > 10, "{}", whole.len());
    for upid in whole {
        assert_eq!(&upid.parse::<Upid>().map(|upid| upid.to_string()), &Ok(upid.to_string()));
    }
}

prop_compose! {
    fn upids()(
        node in "[a-z0-9]([a-z0-9-]{0,6}[a-z0-9])?",
        pid: u32,
        pstart in 0u64..1 << 36,
        starttime: u32,
        worker_type in "[a-z][a-z_-]{1,12}",
        id in "\\PC{0,12}",
        user in "[a-z.]{1,8}@(pam|pve)(![a-z][a-z0-9]{1,5})?",
    ) -> Upid {
        Upid { node, pid, pstart, starttime, worker_type, id: encode_id(&id), user }
    }
}

proptest! {
    #[test]
    fn written_and_read_back(upid in upids()) {
        prop_assert_eq!(upid.to_string().parse(), Ok(upid));
    }

    #[test]
    fn any_text_is_read_without_panic(text in "(UPID:)?[a-zA-Z0-9:@!/ %é-]{0,80}|\\PC{0,60}") {
        if let Ok(upid) = text.parse::<Upid>() {
            prop_assert!(upid.to_string().eq_ignore_ascii_case(&text));
        }
    }
}
