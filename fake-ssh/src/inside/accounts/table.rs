//! The tables of accounts, as they lie in `/etc`, and what changes them.

/// A table such as `/etc/passwd`.
pub(super) struct Table {
    pub path: &'static str,
    pub rows: Vec<Vec<String>>,
}

impl Table {
    pub fn read(path: &'static str) -> Table {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let rows = text.lines().map(|line| line.split(':').map(String::from).collect()).collect();
        Table { path, rows }
    }

    pub fn find(&mut self, name: &str) -> Option<&mut Vec<String>> {
        self.rows.iter_mut().find(|row| row.first().is_some_and(|first| first == name))
    }

    pub fn has(&mut self, name: &str) -> bool {
        self.find(name).is_some()
    }

    pub fn add(&mut self, row: &[&str]) {
        self.rows.push(row.iter().map(|cell| cell.to_string()).collect());
    }

    /// The first free number of ordinary accounts.
    pub fn free(&self) -> u32 {
        let used = |row: &Vec<String>| row.get(2).and_then(|id| id.parse::<u32>().ok());
        self.rows.iter().filter_map(used).filter(|id| (1000..60000).contains(id)).max().map_or(1000, |id| id + 1)
    }

    pub fn save(&self) -> bool {
        let text: String = self.rows.iter().map(|row| row.join(":") + "\n").collect();
        std::fs::write(self.path, text).is_ok()
    }
}

pub(super) fn passwd() -> Table {
    Table::read("/etc/passwd")
}

pub(super) fn group() -> Table {
    Table::read("/etc/group")
}

pub(super) fn shadow() -> Table {
    Table::read("/etc/shadow")
}

/// Who is to be made.
pub(super) struct Account<'a> {
    pub name: &'a str,
    pub uid: Option<&'a str>,
    pub home: Option<&'a str>,
    pub shell: &'a str,
    pub comment: &'a str,
    pub make_home: bool,
    pub password: &'a str,
}

pub(super) fn make(account: &Account<'_>) -> bool {
    let (mut users, mut groups, mut secrets) = (passwd(), group(), shadow());
    let uid = account.uid.map_or_else(|| users.free().to_string(), String::from);
    let name = account.name;
    let home = account.home.map_or_else(|| format!("/home/{name}"), String::from);
    users.add(&[name, "x", &uid, &uid, account.comment, &home, account.shell]);
    if !groups.has(name) {
        groups.add(&[name, "x", &uid, ""]);
    }
    secrets.add(&[name, account.password, "20000", "0", "99999", "7", "", "", ""]);
    if account.make_home {
        let _there_already = std::fs::create_dir_all(&home);
    }
    users.save() && groups.save() && secrets.save()
}

pub(super) fn join(name: &str, wanted: &str) -> Result<(), String> {
    let mut groups = group();
    for wanted in wanted.split(',').filter(|wanted| !wanted.is_empty()) {
        let Some(row) = groups.find(wanted) else { return Err(wanted.into()) };
        let members = row.get(3).cloned().unwrap_or_default();
        if !members.split(',').any(|member| member == name) {
            row.resize(4, String::new());
            row[3] = if members.is_empty() { name.into() } else { format!("{members},{name}") };
        }
    }
    groups.save();
    Ok(())
}

pub(super) fn forget(name: &str, with_home: bool) {
    let (mut users, mut groups, mut secrets) = (passwd(), group(), shadow());
    let home = users.find(name).and_then(|row| row.get(5).cloned());
    users.rows.retain(|row| row[0] != name);
    secrets.rows.retain(|row| row[0] != name);
    groups.rows.retain(|row| row[0] != name);
    for row in groups.rows.iter_mut().filter(|row| row.len() > 3) {
        row[3] = row[3].split(',').filter(|member| *member != name).collect::<Vec<_>>().join(",");
    }
    let _saved = (users.save(), groups.save(), secrets.save());
    if let Some(home) = home.filter(|home| with_home && home.starts_with("/home/")) {
        let _gone_already = std::fs::remove_dir_all(home);
    }
}
