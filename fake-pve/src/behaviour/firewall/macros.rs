//! Macros: names for kinds of traffic, with what each of them already settles.

use serde_json::{Map, Value};

use super::text;

/// A macro.
pub(super) struct Macro {
    /// Its name in Proxmox's case.
    pub name: &'static str,
    /// What it is for.
    pub descr: &'static str,
    /// Its rules, by space: protocol, `/` and destination ports, `<` and source ports.
    rules: &'static str,
}

/// Every macro, by name.
pub(super) fn all() -> impl Iterator<Item = &'static Macro> {
    MACROS.iter()
}

/// A macro; case does not count.
pub(super) fn find(name: &str) -> Option<&'static Macro> {
    all().find(|known| known.name.eq_ignore_ascii_case(name))
}

impl Macro {
    /// The first property of a rule that differs from what the macro settles, with Proxmox's words.
    pub fn conflict(&self, rule: &Map<String, Value>, ipversion: Option<u8>) -> Option<(String, String)> {
        // This one exists in two versions, of which only one is listed.
        if self.name == "Ping" && ipversion == Some(6) {
            return None;
        }
        self.rules.split(' ').find_map(|settled| {
            let (settled, sport) = settled.split_once('<').unwrap_or((settled, ""));
            let (proto, dport) = settled.split_once('/').unwrap_or((settled, ""));
            let settled = [("proto", proto), ("dport", dport), ("sport", sport)];
            let differs = |(name, value): &(&str, &str)| {
                !value.is_empty() && rule.contains_key(*name) && text(rule, name) != *value
            };
            let (name, value) = settled.into_iter().find(differs)?;
            Some((name.into(), format!("parameter '{name}' already define in macro (value = '{value}')")))
        })
    }
}

const fn new(name: &'static str, descr: &'static str, rules: &'static str) -> Macro {
    Macro { name, descr, rules }
}

static MACROS: [Macro; 86] = [
    new("Amanda", "Amanda backups", "udp/10080 tcp/10080"),
    new("Auth", "identd", "tcp/113"),
    new("BGP", "BGP routing", "tcp/179"),
    new("BitTorrent", "BitTorrent up to 3.1", "tcp/6881:6889 udp/6881"),
    new("BitTorrent32", "BitTorrent from 3.2", "tcp/6881:6999 udp/6881"),
    new("CVS", "CVS pserver", "tcp/2401"),
    new("Ceph", "Ceph monitors, OSDs, MDS", "tcp/6789 tcp/3300 tcp/6800:7300"),
    new("Citrix", "Citrix ICA", "tcp/1494 udp/1604 tcp/2598"),
    new("DAAP", "DAAP music sharing", "tcp/3689 udp/3689"),
    new("DCC", "DCC spam checksums", "tcp/6277"),
    new("DHCPfwd", "DHCP, forwarded", "udp/67:68<67:68"),
    new("DHCPv6", "DHCP for IPv6", "udp/546:547<546:547"),
    new("DNS", "DNS", "udp/53 tcp/53"),
    new("Distcc", "distcc compiling", "tcp/3632"),
    new("FTP", "FTP", "tcp/21"),
    new("Finger", "finger", "tcp/79"),
    new("GNUnet", "GNUnet", "tcp/2086 udp/2086 tcp/1080 udp/1080"),
    new("GRE", "GRE tunnels", "47"),
    new("Git", "Git", "tcp/9418"),
    new("HKP", "OpenPGP key servers", "tcp/11371"),
    new("HTTP", "HTTP", "tcp/80"),
    new("HTTPS", "HTTPS", "tcp/443"),
    new("ICPV2", "ICP of Squid", "udp/3130"),
    new("ICQ", "ICQ", "tcp/5190"),
    new("IMAP", "IMAP", "tcp/143"),
    new("IMAPS", "IMAP over TLS", "tcp/993"),
    new("IPIP", "IP in IP", "94"),
    new("IPsec", "IPsec ESP", "udp/500<500 50"),
    new("IPsecah", "IPsec AH", "udp/500<500 51"),
    new("IPsecnat", "IPsec through NAT", "udp/500 udp/4500 50"),
    new("IRC", "IRC", "tcp/6667"),
    new("Jetdirect", "JetDirect printers", "tcp/9100"),
    new("L2TP", "L2TP", "udp/1701"),
    new("LDAP", "LDAP", "tcp/389"),
    new("LDAPS", "LDAP over TLS", "tcp/636"),
    new("MDNS", "mDNS", "udp/5353"),
    new("MSNP", "MSN messenger", "tcp/1863"),
    new("MSSQL", "SQL Server", "tcp/1433"),
    new("Mail", "SMTP, SMTPS, submission", "tcp/25 tcp/465 tcp/587"),
    new("Munin", "Munin nodes", "tcp/4949"),
    new("MySQL", "MySQL", "tcp/3306"),
    new("NNTP", "NNTP", "tcp/119"),
    new("NNTPS", "NNTP over TLS", "tcp/563"),
    new("NTP", "NTP", "udp/123"),
    new("NeighborDiscovery", "IPv6 neighbours and routers", "icmpv6 icmpv6 icmpv6 icmpv6"),
    new("OSPF", "OSPF routing", "89"),
    new("OpenVPN", "OpenVPN", "udp/1194"),
    new("PCA", "pcAnywhere", "udp/5632 tcp/5631"),
    new("PMG", "Proxmox Mail Gateway", "tcp/8006"),
    new("POP3", "POP3", "tcp/110"),
    new("POP3S", "POP3 over TLS", "tcp/995"),
    new("PPtP", "PPTP", "47 tcp/1723"),
    new("Ping", "ping", "icmp"),
    new("PostgreSQL", "PostgreSQL", "tcp/5432"),
    new("Printer", "LPD printers", "tcp/515"),
    new("RDP", "Remote Desktop", "tcp/3389"),
    new("RIP", "RIP routing", "udp/520"),
    new("RNDC", "BIND control", "tcp/953"),
    new("Razor", "Razor spam filter", "tcp/2703"),
    new("Rdate", "rdate", "tcp/37"),
    new("Rsync", "rsync daemon", "tcp/873"),
    new("SANE", "SANE scanners", "tcp/6566"),
    new("SMB", "SMB file sharing", "udp/135,445 udp/137:139 udp/1024:65535<137 tcp/135,139,445"),
    new("SMBswat", "Samba SWAT", "tcp/901"),
    new("SMTP", "SMTP", "tcp/25"),
    new("SMTPS", "SMTP over TLS", "tcp/465"),
    new("SNMP", "SNMP", "udp/161:162 tcp/161"),
    new("SPAMD", "spamd", "tcp/783"),
    new("SPICEproxy", "SPICE proxy of a node", "tcp/3128"),
    new("SSH", "SSH", "tcp/22"),
    new("SVN", "Subversion server", "tcp/3690"),
    new("SixXS", "SixXS tunnels", "tcp/3874 udp/3740 41 udp/5072,8374"),
    new("Squid", "Squid proxy", "tcp/3128"),
    new("Submission", "mail submission", "tcp/587"),
    new("Syslog", "syslog", "udp/514 tcp/514"),
    new("TFTP", "TFTP", "udp/69"),
    new("Telnet", "telnet", "tcp/23"),
    new("Telnets", "telnet over TLS", "tcp/992"),
    new("Time", "time protocol", "tcp/37"),
    new("Trcrt", "traceroute", "udp/33434:33524 icmp"),
    new("VNC", "VNC displays 0 to 99", "tcp/5900:5999"),
    new("VNCL", "VNC viewers that listen", "tcp/5500"),
    new("Web", "HTTP and HTTPS", "tcp/80 tcp/443"),
    new("Webcache", "web caches", "tcp/8080"),
    new("Webmin", "Webmin", "tcp/10000"),
    new("Whois", "whois", "tcp/43"),
];
