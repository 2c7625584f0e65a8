//! stub
#[derive(Debug,Clone,PartialEq,Eq)] pub struct Report { pub findings: Vec<Finding>, pub omitted: usize, pub omitted_secrets: bool }
#[derive(Debug,Clone,PartialEq,Eq)] pub struct Finding { pub rule: String, pub line: usize, pub text: String, pub how: String, pub profile: Profile }
#[derive(Debug,Clone,Copy,PartialEq,Eq)] pub enum Profile { Secrets, RustStrict }
pub struct Request<'a> { pub path: &'a str, pub before: Option<&'a [u8]>, pub after: &'a [u8], pub rust_strict: bool, pub exceptions: &'a [String] }
pub fn check(_: &Request<'_>) -> Report { Report{findings:vec![],omitted:0,omitted_secrets:false} }
