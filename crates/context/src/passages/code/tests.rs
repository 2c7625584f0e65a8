//! Definitions of every language, with their comments, levels and names.

use super::super::split::split;
use super::super::syntax::Syntax;
use super::*;

/// Returns the passages of a code: lines, headings, and the first line.
fn passages_of(content: &str, language: Language) -> String {
    split(content, Syntax::Code(language))
        .iter()
        .map(|passage| {
            let (from, to) = passage.lines;
            let first = content[passage.range.clone()].lines().next().unwrap_or("");
            format!(
                "{from}-{to} [{}] {}\n",
                passage.heading.join(" > "),
                first.trim()
            )
        })
        .collect()
}

#[test]
fn definitions_of_rust() {
    let content = r####"//! A module.

use std::fmt;

/// A shelf.
#[derive(Debug,
    Clone)]
pub struct Shelf<'a> {
    books: Vec<&'a str>, // fn no() {}
}

impl<'a> Shelf<'a> {
    /// Asks.
    pub(crate) async fn ask(&self) -> char {
        fn deeper() {}
        '{'
    }

    const LIMIT: usize = 3;

    fn raw(&self) -> &str {
        r#"
}
fn in_a_string() {"#
    }
}

impl<T: fmt::Debug> fmt::Display for Wrapper<T>
where
    T: Clone,
{
    fn fmt(&self) {}
}

/* fn in_a_comment() {
   /* nested */ fn still() {}
*/
mod elsewhere;

unsafe extern "C" fn raw_c() {}

macro_rules! shelf { () => {} }

mod tests { fn inside() {} }
trait Reader {
    fn read(&self);

    // About writing.
    fn write(&self);
}
"####;
    insta::assert_snapshot!(passages_of(content, Language::Rust), @r##"
    1-3 [] //! A module.
    5-10 [struct Shelf] /// A shelf.
    12-19 [impl Shelf > fn ask] impl<'a> Shelf<'a> {
    21-26 [impl Shelf > fn raw] fn raw(&self) -> &str {
    28-38 [impl fmt::Display for Wrapper > fn fmt] impl<T: fmt::Debug> fmt::Display for Wrapper<T>
    40-40 [fn raw_c] unsafe extern "C" fn raw_c() {}
    42-42 [macro_rules! shelf] macro_rules! shelf { () => {} }
    44-44 [mod tests] mod tests { fn inside() {} }
    45-46 [trait Reader > fn read] trait Reader {
    48-50 [trait Reader > fn write] // About writing.
    "##);
}

#[test]
fn definitions_of_python() {
    let content = r#"import os

# About ask.
@decorated(
    "def no():",
)
async def ask(a,
    b={
        "c": 1,
}):
    """
def in_a_string():
    """
    def inner():
        def too_deep(): pass

class Shelf(Base):
    size = 1

    def take(self): pass

    # Not above: a blank line follows.

    @property
    def full(self):
        return True

if True:
    def conditional(): pass
x = 1
"#;
    insta::assert_snapshot!(passages_of(content, Language::Python), @r##"
    1-1 [] import os
    3-15 [def ask > def inner] # About ask.
    17-22 [class Shelf > def take] class Shelf(Base):
    24-28 [class Shelf > def full] @property
    29-30 [def conditional] def conditional(): pass
    "##);
}

#[test]
fn definitions_of_javascript_and_typescript() {
    let content = r#"import { a } from "b";

/** Asks. */
export default async function ask(x) {
  const y = `function no() { ${x ? `}` : "{"} }
function in_a_string() {`;
  return /[/"]function/.test(y);
}

@Component({
  selector: "x",
})
export class Shelf<T> extends Base {
  #size = 1;

  constructor(x) {}

  // Takes.
  static async take(n: number): Promise<void> {
    if (n) { while (n) {} }
  }

  get full() { return true; }
  handler = async (event) => {
  };
}

export const useShelf = (x) => {
  function inner() {}
};
const plain = 3;
interface Reader { read(): void; }
type Name = string;
export const enum Kind { A }
const Page = () => <p>don't {x}</p>;
function after() {}
"#;
    insta::assert_snapshot!(passages_of(content, Language::JavaScript), @r##"
    1-1 [] import { a } from "b";
    3-8 [function ask] /** Asks. */
    10-16 [class Shelf > constructor] @Component({
    18-21 [class Shelf > take] // Takes.
    23-23 [class Shelf > full] get full() { return true; }
    24-26 [class Shelf > handler] handler = async (event) => {
    28-31 [const useShelf > function inner] export const useShelf = (x) => {
    32-32 [interface Reader] interface Reader { read(): void; }
    33-33 [type Name] type Name = string;
    34-34 [enum Kind] export const enum Kind { A }
    35-35 [const Page] const Page = () => <p>don't {x}</p>;
    36-36 [function after] function after() {}
    "##);
}

#[test]
fn definitions_of_go() {
    let content = r#"package shelf

// Shelf holds books.
type Shelf struct {
	books []string
}

// Ask asks.
func (s *Shelf) Ask(q string) rune {
	x := `
func inAString() {
`
	return '{'
}

func New() *Shelf { return nil }

type (
	A int
)
"#;
    insta::assert_snapshot!(passages_of(content, Language::Go), @r##"
    1-1 [] package shelf
    3-6 [type Shelf] // Shelf holds books.
    8-14 [func (s *Shelf) Ask] // Ask asks.
    16-16 [func New] func New() *Shelf { return nil }
    18-20 [type] type (
    "##);
}

#[test]
fn definitions_of_java() {
    let content = r#"package shelf;

import java.util.List;

/**
 * A shelf.
 */
@Entity(name = "shelf")
public final class Shelf<T> extends Base {
    private final int size = count(3);
    static { init(); }

    public Shelf(int size) {
        if (size > 0) { this.size = size; }
    }

    /** Takes. */
    @Override
    public List<Map<String, T>> take(int n) throws IOException {
        String s = """
            void inAString() {
            """;
        return null;
    }

    @Nullable String name() { return null; }

    class Inner { void deep() {} }
}

enum Color {
    RED(1), GREEN(2);

    Color(int x) {}
}

interface Reader {
    String read(char c);
}
"#;
    insta::assert_snapshot!(passages_of(content, Language::Java), @r##"
    1-3 [] package shelf;
    5-15 [class Shelf > Shelf] /**
    17-24 [class Shelf > take] /** Takes. */
    26-26 [class Shelf > name] @Nullable String name() { return null; }
    28-29 [class Shelf > class Inner] class Inner { void deep() {} }
    31-35 [enum Color > Color] enum Color {
    37-39 [interface Reader > read] interface Reader {
    "##);
}

#[test]
fn definitions_of_ruby() {
    let content = r#"require "set"

=begin
def in_a_comment
=end

# Books.
module Library
  class Shelf < Base
    def too_deep
    end
  end

  # Asks.
  def self.ask?(x)
    text = <<~EOS
def in_a_string
    EOS
  end

  class << self
  end

  private def hidden
    list << ITEM
  end

  def ==(other) = true
end

def after
end
"#;
    insta::assert_snapshot!(passages_of(content, Language::Ruby), @r##"
    1-5 [] require "set"
    7-12 [module Library > class Shelf] # Books.
    14-19 [module Library > def self.ask?] # Asks.
    21-22 [module Library > class << self] class << self
    24-26 [module Library > def hidden] private def hidden
    28-29 [module Library > def ==] def ==(other) = true
    31-32 [def after] def after
    "##);
}

#[test]
fn short_beginning_stays_with_the_first_inner_definition() {
    let long = format!("class A {{\n{}\n  b() {{}}\n}}\n", "  x = 1;\n".repeat(60));
    let passages = split(&long, Syntax::Code(Language::JavaScript));
    assert_eq!(passages[0].heading, ["class A"]);
    assert_eq!(passages[1].heading, ["class A", "b"]);
    let short = "class A {\n  b() {}\n  c() {}\n}\n";
    let passages = split(short, Syntax::Code(Language::JavaScript));
    assert_eq!(passages[0].heading, ["class A", "b"]);
    assert_eq!(&short[passages[0].range.clone()], "class A {\n  b() {}");
    assert_eq!(passages[1].heading, ["class A", "c"]);
}

#[test]
fn code_without_definitions_is_cut_at_empty_lines() {
    let line = "let x = 1;\n".repeat(100);
    let content = format!("{line}\n{line}\n{line}");
    let passages = split(&content, Syntax::Code(Language::Rust));
    let lines: Vec<_> = passages.iter().map(|passage| passage.lines).collect();
    assert_eq!(lines, [(1, 100), (102, 201), (203, 302)]);
    assert!(passages.iter().all(|passage| passage.heading.is_empty()));
}
