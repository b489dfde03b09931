//! Servers as child processes, ended when dropped.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use fake_pve::Scenario;
use serde_json::json;

use crate::client;

/// A server with guests 10000 and up that are machines with a disk.
pub struct Server {
    child: Child,
    pub port: u16,
    /// Where guest 10000 is.
    pub node: &'static str,
    /// From the start of the process to its first answer.
    pub ready: Duration,
}

/// What starts the Python package with some guests on a port.
const PYTHON: &str = "
import asyncio, sys, tempfile
from fakepve import FakePve
from fakepve.certs import make_cert
async def serve(port, guests):
    cert, key, _ = make_cert(tempfile.mkdtemp(), hosts=('127.0.0.1',))
    fake = FakePve(user='root@pam', password='secret', host='127.0.0.1', port=port)
    fake.time_scale = 0.0
    for node in ('pve1', 'pve2'):
        fake.add_node(node)
    fake.apitokens['root@pam!ci'] = '12345678-1234-1234-1234-1234567890ab'
    for at in range(guests):
        config = {'scsi0': 'local-lvm:vm-%d-disk-0,size=8G' % (10000 + at), 'memory': 2048, 'cores': 2, 'tags': 'a;b',
                  'net0': 'virtio=BC:24:11:00:%02X:%02X,bridge=vmbr0' % (at // 256 % 256, at % 256)}
        fake.add_vm(10000 + at, 'g%04d' % at, node='pve%d' % (1 + at % 2),
                    status='running' if at % 2 else 'stopped', config=config)
    await fake.start(cert, key)
    await asyncio.Event().wait()
asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2])))
";

impl Server {
    /// The program of this package, with the default scenario or one of some guests.
    pub fn ours(guests: Option<usize>) -> Server {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fake-pve"));
        command.args(["--bind", "127.0.0.1:0"]);
        if let Some(guests) = guests {
            let file = format!("{}/guests-{guests}.json", env!("CARGO_TARGET_TMPDIR"));
            std::fs::write(&file, scenario(guests).to_json()).expect("the scenario is written");
            command.args(["--scenario", &file]);
        }
        let began = Instant::now();
        let mut child = command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let mut lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        let first = lines.next().and_then(Result::ok).unwrap_or_default();
        let port = first.rsplit(':').next().and_then(|port| port.parse().ok()).expect("an address");
        assert!(client::answers(port), "it says that it listens, and does not answer");
        Server { child, port, node: "pve1", ready: began.elapsed() }
    }

    /// The Python package, when it is there.
    pub fn python(guests: usize) -> Option<Server> {
        #[expect(clippy::disallowed_methods, reason = "the benchmark is told by its environment where it is")]
        let python = std::env::var("FAKEPVE_PYTHON").ok()?;
        let port = TcpListener::bind("127.0.0.1:0").and_then(|free| free.local_addr()).ok()?.port();
        let began = Instant::now();
        let mut command = Command::new(python);
        let mut child = command.args(["-c", PYTHON, &port.to_string(), &guests.to_string()]).spawn().ok()?;
        while !client::answers(port) {
            if child.try_wait().ok()?.is_some() {
                return None;
            }
            #[expect(clippy::disallowed_methods, reason = "another program is waited for")]
            std::thread::sleep(Duration::from_millis(5));
        }
        Some(Server { child, port, node: "pve1", ready: began.elapsed() })
    }

    /// Resident memory in kB.
    pub fn resident(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap_or_default();
        line.trim().trim_end_matches(" kB").parse().unwrap_or(0)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill();
        let _waited = self.child.wait();
    }
}

fn scenario(guests: usize) -> Scenario {
    let mut scenario = Scenario::empty().node("pve2");
    for at in 0..guests {
        let vmid = 10_000 + u32::try_from(at).expect("a vmid");
        let node = if at % 2 == 0 { "pve1" } else { "pve2" };
        scenario = scenario.vm(
            vmid,
            node,
            json!({
                "name": format!("g{at:04}"), "memory": "2048", "cores": 2, "tags": "a;b",
                "net0": format!("virtio=BC:24:11:00:{:02X}:{:02X},bridge=vmbr0", at / 256 % 256, at % 256),
            }),
        );
        if at % 2 == 1 {
            scenario = scenario.running(vmid);
        }
    }
    scenario
}
