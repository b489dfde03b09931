//! Arguments: what callers write, what Proxmox is sent, and what is refused before anything is sent.

use serde_json::{Value, json};

use crate::scripted::{Scripted, ok};
use crate::served::{alone, call, cluster, done, everything, fails, over};

/// The parameters of the request that a dry run shows.
async fn params(tool: &str, mut arguments: Value) -> Value {
    arguments["dry_run"] = true.into();
    done(&alone(everything()), tool, arguments).await["request"]["params"].clone()
}

/// The error messages by argument.
async fn errors(tool: &str, arguments: Value) -> Value {
    fails(&alone(everything()), tool, arguments, "bad_argument").await["errors"].clone()
}

#[tokio::test]
async fn booleans_go_out_as_digits_whatever_is_written() {
    for written in [json!(true), json!(1), json!("1"), json!("true"), json!("on"), json!("yes"), json!("True")] {
        let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "onboot": written})).await;
        assert_eq!(sent, json!({"onboot": "1"}), "{written}");
    }
    for written in [json!(false), json!(0), json!("0"), json!("off"), json!("no")] {
        let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "onboot": written})).await;
        assert_eq!(sent, json!({"onboot": "0"}), "{written}");
    }
}

#[tokio::test]
async fn numbers_may_be_text_and_text_may_be_numbers() {
    for written in [json!(2048), json!("2048"), json!(2048.0)] {
        let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": "100", "balloon": written})).await;
        assert_eq!(sent, json!({"balloon": "2048"}), "{written}");
    }
    let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "name": 7})).await;
    assert_eq!(sent, json!({"name": "7"}));
}

#[tokio::test]
async fn a_bare_switch_of_a_property_string_is_a_digit() {
    for written in [json!(true), json!("true"), json!(1), json!("1"), json!("yes")] {
        let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "agent": written})).await;
        assert_eq!(sent, json!({"agent": "1"}), "{written}");
    }
}

#[tokio::test]
async fn numbered_parameters_have_two_spellings() {
    let flat = json!({"node": "pve1", "vmid": 100, "net0": "virtio,bridge=vmbr0", "net1": "e1000,bridge=vmbr1"});
    let nested = json!({"node": "pve1", "vmid": 100, "net": {"0": "virtio,bridge=vmbr0", "1": "e1000,bridge=vmbr1"}});
    let text =
        json!({"node": "pve1", "vmid": 100, "net": "{\"0\":\"virtio,bridge=vmbr0\",\"1\":\"e1000,bridge=vmbr1\"}"});
    let expected = json!({"net0": "virtio,bridge=vmbr0", "net1": "e1000,bridge=vmbr1"});
    for written in [flat, nested, text] {
        assert_eq!(params("pve_update_vm_config", written).await, expected);
    }
}

#[tokio::test]
async fn a_numbered_parameter_outside_its_range_is_refused_with_the_range() {
    let told = errors("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "net32": "virtio"})).await;
    assert_eq!(told["net32"], "the numbers of net go from 0 to 31");
    let told = errors("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "net": "virtio"})).await;
    assert!(told["net"].as_str().unwrap().contains("net0"), "{told}");
    let twice = json!({"node": "pve1", "vmid": 100, "net0": "virtio", "net": {"0": "virtio"}});
    assert!(errors("pve_update_vm_config", twice).await["net0"].as_str().unwrap().contains("twice"));
}

#[tokio::test]
async fn a_property_string_may_be_an_object() {
    let written =
        json!({"node": "pve1", "vmid": 100, "net0": {"model": "virtio", "bridge": "vmbr0", "firewall": true}});
    let sent = params("pve_update_vm_config", written).await;
    let net = sent["net0"].as_str().unwrap();
    assert!(net.contains("bridge=vmbr0") && net.contains("firewall=1") && net.contains("virtio"), "{net}");
}

#[tokio::test]
async fn what_is_not_given_is_not_sent() {
    let written = json!({"node": "pve1", "vmid": 100, "memory": "2048", "args": "", "hookscript": null, "tags": ""});
    let server = alone(everything());
    let mut arguments = written;
    arguments["dry_run"] = true.into();
    let shown = done(&server, "pve_update_vm_config", arguments).await;
    assert_eq!(shown["request"]["params"], json!({"memory": "2048"}));
    assert_eq!(shown["left_out_because_empty"], json!(["args", "tags"]));
}

#[tokio::test]
async fn an_empty_text_clears_where_there_is_no_other_way() {
    let sent = params("pve_update_group", json!({"groupid": "admins", "comment": ""})).await;
    assert_eq!(sent, json!({"comment": ""}));
}

#[tokio::test]
async fn path_values_stand_in_the_path_only() {
    let shown = done(
        &alone(everything()),
        "pve_update_vm_config",
        json!({"node": "pve1", "vmid": 100, "name": "web", "dry_run": true}),
    )
    .await;
    assert_eq!(shown["request"]["path"], "/nodes/pve1/qemu/100/config");
    assert_eq!(shown["request"]["params"], json!({"name": "web"}));
}

#[tokio::test]
async fn arrays_repeat_their_key_and_texts_stay_whole() {
    let exec = |command: Value| json!({"node": "pve1", "vmid": 100, "command": command});
    assert_eq!(params("pve_vm_agent_exec", exec(json!(["ls", "-la"]))).await, json!({"command": ["ls", "-la"]}));
    assert_eq!(params("pve_vm_agent_exec", exec(json!("[\"ls\",\"-la\"]"))).await, json!({"command": ["ls", "-la"]}));
    assert_eq!(params("pve_vm_agent_exec", exec(json!("ls -la"))).await, json!({"command": "ls -la"}));
    let monitor = json!({"node": "pve1", "vmid": 100, "command": "info block -v"});
    assert_eq!(params("pve_run_vm_monitor_command", monitor).await, json!({"command": "info block -v"}));
}

#[tokio::test]
async fn lists_in_one_text_are_joined() {
    let written = json!({"node": "pve1", "vmid": 100, "delete": ["net1", "args"]});
    assert_eq!(params("pve_update_vm_config", written).await, json!({"delete": "net1,args"}));
    let written = json!({"node": "pve1", "vmid": 100, "name": ["a", "b"]});
    assert!(errors("pve_update_vm_config", written).await["name"].as_str().unwrap().contains("not a list"));
}

#[tokio::test]
async fn callers_that_write_everything_as_text_are_understood() {
    let written = json!({"node": "pve1", "vmid": "100", "newid": "123", "full": "true", "dry_run": "true"});
    let shown = done(&alone(everything()), "pve_clone_vm", written).await;
    assert_eq!(shown["request"]["params"], json!({"newid": "123", "full": "1"}));
}

#[tokio::test]
async fn ssh_keys_are_encoded_once_and_a_path_is_refused() {
    let keys = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIPM+x/y a@b";
    let sent = params("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "sshkeys": keys})).await;
    assert!(sent["sshkeys"].as_str().unwrap().starts_with("ssh-ed25519%20AAAA"), "{sent}");
    let told = errors("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "sshkeys": "~/.ssh/id.pub"})).await;
    assert!(told["sshkeys"].as_str().unwrap().contains("not the path"), "{told}");
}

#[tokio::test]
async fn everything_wrong_is_said_at_once_and_nothing_is_sent() {
    let scripted = cluster(|_| None).await;
    let server = over(&scripted);
    let written = json!({"vmid": 100, "memmory": 2048, "cores": "many", "net99": "virtio", "wait_seconds": 99999});
    let fault = fails(&server, "pve_update_vm_config_async", written, "bad_argument").await;
    let errors = fault["errors"].as_object().unwrap();
    let names: Vec<&str> = errors.keys().map(String::as_str).collect();
    assert_eq!(names, ["cores", "memmory", "net99", "wait_seconds"]);
    assert!(errors["memmory"].as_str().unwrap().contains("'memory'"), "{fault}");
    assert!(fault["hint"].as_str().unwrap().contains("pve_api_describe"));
    assert!(scripted.received().is_empty());
}

#[tokio::test]
async fn a_snapshot_knows_its_rules() {
    let told = errors("pve_create_lxc_snapshot", json!({"vmid": 101, "snapname": "a", "vmstate": true})).await;
    assert!(told["vmstate"].as_str().unwrap().contains("only VMs"), "{told}");
    for bad in ["has space", "1st", "a.b", &"a".repeat(41)] {
        let told = errors("pve_create_vm_snapshot", json!({"vmid": 100, "snapname": bad})).await;
        assert!(told["snapname"].is_string(), "{bad}: {told}");
    }
}

#[tokio::test]
async fn near_misses_get_the_nearest_name() {
    let written = json!({"vmid": 200, "ostemplate": "local:vztmpl/a.tar.zst", "ssh-public-key": "x"});
    let fault = fails(&alone(everything()), "pve_create_lxc", written, "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("'ssh-public-keys'"), "{fault}");
    let told = errors("pve_list_nodes", json!({"node": "pve1"})).await;
    assert!(told["node"].as_str().unwrap().contains("takes no parameters"), "{told}");
    let told = errors("pve_list_vms", json!({"node": "pve1", "dry_run": true})).await;
    assert!(told["dry_run"].as_str().unwrap().contains("a read has no dry run"), "{told}");
}

#[tokio::test]
async fn a_key_of_a_property_string_has_neighbours_too() {
    let told = errors("pve_update_vm_config", json!({"node": "pve1", "vmid": 100, "net0": "virtio,bridg=vmbr0"})).await;
    assert!(told["net0"].as_str().unwrap().contains("did you mean 'bridge'"), "{told}");
}

#[tokio::test]
async fn a_linked_clone_takes_no_storage() {
    let told =
        errors("pve_clone_vm", json!({"node": "pve1", "vmid": 100, "newid": 200, "full": false, "storage": "local"}))
            .await;
    assert!(told["storage"].as_str().unwrap().contains("linked clone"), "{told}");
}

#[tokio::test]
async fn what_is_odd_is_told_beside_the_result() {
    let server = alone(everything());
    let warnings = async |tool: &str, mut arguments: Value| {
        arguments["dry_run"] = true.into();
        done(&server, tool, arguments).await["warnings"].to_string()
    };
    let dead = json!({"node": "pve1", "vmid": 200, "net0": "virtio"});
    assert!(warnings("pve_create_vm", dead).await.contains("no bridge"));
    let changed = json!({"node": "pve1", "vmid": 100, "net0": "virtio,bridge=vmbr0"});
    assert!(warnings("pve_update_vm_config", changed).await.contains("MAC"));
    let kept = json!({"node": "pve1", "vmid": 100, "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0"});
    assert_eq!(warnings("pve_update_vm_config", kept).await, "null");
    let idle = json!({"node": "pve1", "vmid": 200, "ipconfig0": "ip=dhcp"});
    assert!(warnings("pve_create_vm", idle).await.contains("cloud-init drive"));
    let ready = json!({"node": "pve1", "vmid": 200, "ipconfig0": "ip=dhcp", "ide2": "local-lvm:cloudinit"});
    assert_eq!(warnings("pve_create_vm", ready).await, "null");
}

#[tokio::test]
async fn a_refusal_says_nothing_of_a_secret() {
    let secret = "short-but-secret ü \u{1}";
    let written = json!({"node": "pve1", "vmid": 100, "username": "root", "password": secret.repeat(200)});
    let fault = fails(&alone(everything()), "pve_vm_agent_set_user_password", written, "bad_argument").await;
    assert!(!fault.to_string().contains("short-but"), "{fault}");
}

#[tokio::test]
async fn the_node_follows_from_the_guest() {
    let scripted =
        cluster(|request| request.path().ends_with("/config").then(|| ok(r#"{"data":{"memory":"2048"}}"#))).await;
    let server = over(&scripted);
    let read = done(&server, "pve_get_lxc_config", json!({"vmid": 101})).await;
    assert_eq!(read["data"]["memory"], "2048");
    let paths: Vec<String> = scripted.received().iter().map(|request| request.target.clone()).collect();
    assert_eq!(paths, ["/api2/json/cluster/resources?type=vm", "/api2/json/nodes/pve2/lxc/101/config"]);
}

#[tokio::test]
async fn the_wrong_kind_of_guest_leads_to_the_right_tool() {
    let scripted = cluster(|_| None).await;
    let server = over(&scripted);
    let fault = fails(&server, "pve_get_vm_config", json!({"vmid": 101}), "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("101 is a container"));
    assert!(fault["hint"].as_str().unwrap().contains("pve_get_lxc_config"));
    let fault = fails(&server, "pve_get_vm_config", json!({"vmid": 999}), "not_found").await;
    assert!(fault["message"].as_str().unwrap().contains("no guest 999"));
}

#[tokio::test]
async fn without_a_guest_the_nodes_are_listed() {
    let scripted = cluster(|_| None).await;
    let fault = fails(&over(&scripted), "pve_list_vms", json!({}), "bad_argument").await;
    assert!(fault["message"].as_str().unwrap().contains("the nodes are pve1, pve2"), "{fault}");
}

#[tokio::test]
async fn the_only_node_and_the_default_node_need_no_name() {
    let one =
        |request: &crate::scripted::Received| (request.path() == "/nodes").then(|| ok(r#"{"data":[{"node":"pve9"}]}"#));
    let scripted = cluster(one).await;
    done(&over(&scripted), "pve_list_vms", json!({})).await;
    assert_eq!(last(&scripted), "/api2/json/nodes/pve9/qemu");

    let scripted = cluster(|_| None).await;
    let mut settings = crate::served::settings(scripted.connection(), everything());
    settings.instances[0].default_node = Some("pve2".into());
    done(&crate::served::server(settings), "pve_list_vms", json!({})).await;
    assert_eq!(last(&scripted), "/api2/json/nodes/pve2/qemu");
    assert_eq!(scripted.received().len(), 1);
}

#[tokio::test]
async fn the_node_of_a_task_is_in_its_identifier() {
    let scripted = cluster(|_| None).await;
    let upid = "UPID:pve2:0000AAAA:00000001:65000000:vzdump:100:root@pam:";
    call(&over(&scripted), "pve_get_node_task_status", json!({"upid": upid})).await;
    assert!(last(&scripted).starts_with("/api2/json/nodes/pve2/tasks/UPID:pve2:"), "{}", last(&scripted));
}

fn last(scripted: &Scripted) -> String {
    scripted.received().last().map(|request| request.target.clone()).unwrap_or_default()
}

#[tokio::test]
async fn a_refusal_says_what_is_accepted_and_what_was_probably_meant() {
    let given = json!({
        "node": "pve1", "vmid": 100, "cores": "many", "bios": "seabbios", "startup": "x", "boot": "zz",
        "net0": "virtoi,bridge=vmbr0", "scsi0": "local-lvm:vm-100-disk-0,size=1X", "agent": "",
    });
    let errors = errors("pve_update_vm_config", given).await;
    let told = |name: &str| errors[name].as_str().unwrap_or_default().to_string();
    assert!(told("cores").ends_with("got 'many' (a whole number from 1)"), "{errors}");
    assert!(told("bios").ends_with("did you mean 'seabios'?"), "{errors}");
    assert!(told("startup").ends_with("(order=N,up=SECONDS,down=SECONDS, or N alone)"), "{errors}");
    assert!(told("boot").contains("[acdn]{1,4}"), "{errors}");
    assert!(told("net0").ends_with("did you mean 'virtio'?"), "{errors}");
    assert!(told("scsi0").ends_with("1X (a size such as 32G, where a bare number counts bytes)"), "{errors}");
}

#[tokio::test]
async fn a_path_is_refused_with_all_that_is_wrong_and_a_slip_in_it_is_seen() {
    let server = alone(everything());
    let wrong = json!({"path": "/nodes//pve1/../x?y=1 %"});
    let fault = fails(&server, "pve_api_read", wrong, "bad_argument").await;
    let told = fault["errors"]["path"].as_str().expect("a message");
    for part in ["'?'", "'//'", "'%'", "spaces", "a dot segment"] {
        assert!(told.contains(part), "{part} in {told}");
    }
    let scripted = cluster(|_| Some(crate::scripted::status("501 Method 'GET' not implemented", "{}"))).await;
    let fault = fails(&over(&scripted), "pve_api_read", json!({"path": "/nodes/pve1/qemuu"}), "not_supported").await;
    assert!(
        fault["note"].as_str().is_some_and(|note| note.ends_with("did you mean GET /nodes/{node}/qemu?")),
        "{fault}"
    );
}
