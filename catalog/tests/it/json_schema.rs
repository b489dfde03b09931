//! Schemas of generated tools: plain, small, and true to the catalogue.

use pve_catalog::json_schema::{Detail, input_schema};
use pve_catalog::{Catalog, Method};
use serde_json::Value;

fn tools() -> impl Iterator<Item = &'static Method> {
    Catalog::embedded().methods().iter().filter(|method| method.tool.is_some())
}

fn bytes(method: &Method, detail: Detail) -> usize {
    Value::from(input_schema(method, detail)).to_string().len()
}

#[test]
fn sizes() {
    let total: usize = tools().map(|method| bytes(method, Detail::Compact)).sum();
    let full: usize = tools().map(|method| bytes(method, Detail::Full)).sum();
    let mut big: Vec<(usize, String)> = tools().map(|method| (bytes(method, Detail::Compact), method.key())).collect();
    big.sort();
    println!("{total} {full} {:?}", &big[big.len() - 20..]);
}
