//! The scan of a text agrees with serde_json: the same texts are accepted, the index leads to the same
//! values, and types are deserialized alike.

use candor_json::{IndexedText, JsonRef, JsonTree, ScanError, ScanOutcome, scan};
use serde::Deserialize as _;
use serde_json::Value;

/// Checks the scan with any bytes.
///
/// # Panics
///
/// Panics if the scan and serde_json disagree.
pub fn scanner(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        return;
    };
    let oracle = serde_json::from_str(text).map(|JsonTree(tree)| tree);
    let (outcome, index) = scan(text);
    match outcome {
        ScanOutcome::Fine => {
            let value = oracle.expect("what is fine is JSON");
            let root = index.root(text).expect("what is fine has an index");
            agrees(root, &value);
            let copy = root.to_indexed();
            assert_eq!(Some(&copy), IndexedText::new(root.text()).as_ref());
            agrees(copy.root(), &value);
            // A `Value` is compared with a `Value`, not with the tree: serde_json reads an object whose
            // first member has its private name as the text of that member, or not at all.
            let [own, oracle] = [Value::deserialize(root), serde_json::from_str(text)];
            assert_eq!(own.ok(), oracle.ok(), "the same values are deserialized");
        }
        ScanOutcome::Malformed => {
            assert!(oracle.is_err(), "what is refused as malformed is no JSON")
        }
        ScanOutcome::Flawed(ScanError::RepeatedName) => {
            let root = index.root(text).expect("a repeated name leaves an index");
            // The oracle keeps one of several members with the same name.
            if let Ok(tree) = oracle {
                assert!(count(&tree) < count_indexed(root), "a name is repeated");
            }
        }
        ScanOutcome::Flawed(ScanError::TooManyValues) => {}
        ScanOutcome::Flawed(_) => assert!(oracle.is_err(), "the oracle refuses it too"),
    }
}

fn count(tree: &Value) -> usize {
    let inside: usize = match tree {
        Value::Object(members) => members.values().map(count).sum(),
        Value::Array(items) => items.iter().map(count).sum(),
        _ => 0,
    };
    inside + 1
}

fn count_indexed(value: JsonRef<'_>) -> usize {
    let members = value.members().map(|(_, member)| member);
    let inside: usize = members.chain(value.items()).map(count_indexed).sum();
    inside + 1
}

/// Compares an indexed value with the tree that serde_json has made of the same text.
fn agrees(indexed: JsonRef<'_>, tree: &Value) {
    assert_eq!(&indexed.to_value(), tree, "the values are equal");
    let JsonTree(parsed) = JsonTree::deserialize(indexed).expect("every value becomes a tree");
    assert_eq!(&parsed, tree, "deserialized values are equal");
    let compact = tree.to_string();
    let printed = serde_json::to_string(&indexed).expect("every value can be printed");
    assert_eq!(printed, compact, "printed texts are equal");
    if indexed.is_compact() {
        assert_eq!(indexed.text(), compact, "compact text is unchanged");
    }
    match tree {
        Value::Object(members) => {
            assert_eq!(indexed.len(), members.len(), "every member is found");
            for ((name, member), (own_name, own)) in indexed.members().zip(members) {
                assert_eq!(name, own_name.as_str(), "members keep their order");
                assert_eq!(
                    indexed.get(own_name).map(|found| found.id()),
                    Some(member.id())
                );
                agrees(member, own);
            }
        }
        Value::Array(items) => {
            assert_eq!(indexed.len(), items.len(), "every item is found");
            for (item, own) in indexed.items().zip(items) {
                agrees(item, own);
            }
        }
        _ => assert!(indexed.is_empty(), "a scalar has nothing in it"),
    }
}
