//! The response of `passages` for a few documents.

use candor_context::passages::{MemoryIndex, PassagesResponse, SelectedPassage, Syntax, split};

const DOCUMENTS: [(&str, &str); 3] = [
    (
        "guide/cats.md",
        "---\ntitle: Cats\n---\n\nCats sleep for most of the day.\n\n## Feeding\n\nFeed a cat twice a day.\n",
    ),
    (
        "guide/dogs.md",
        "Dogs\n====\n\nA dog wants to be walked, and fed twice daily.\r\n",
    ),
    ("readme.md", "# Pets\n\nNothing about food here.\n"),
];

fn answer(query: &str, budget: u64) -> PassagesResponse {
    let index = MemoryIndex::new(DOCUMENTS.iter().map(|document| document.1));
    let outcome = index.search(query, budget);
    let passages = outcome.hits.into_iter().map(|hit| {
        let (document, ordinal) = index.locate(hit.passage);
        let (id, content) = DOCUMENTS[document];
        let passage = split(content, Syntax::of(id)).swap_remove(ordinal);
        SelectedPassage::new(id, "sha256:00", content, passage, hit)
    });
    let passages = passages.collect();
    PassagesResponse::new(query, budget, outcome.considered, passages, "sha256:11")
}

#[test]
fn response_has_its_exact_shape() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer("How to feed cats twice?", 100)).unwrap(), @r##"
    {
      "passages": [
        {
          "id": "guide/cats.md",
          "version": "sha256:00",
          "range": [
            0,
            89
          ],
          "lines": [
            1,
            9
          ],
          "heading": [
            "Cats"
          ],
          "content": "---\ntitle: Cats\n---\n\nCats sleep for most of the day.\n\n## Feeding\n\nFeed a cat twice a day.",
          "score": 1466197,
          "tokens": 23,
          "why": {
            "terms": [
              {
                "term": "cat",
                "tf": 4,
                "weight": 714889
              },
              {
                "term": "feed",
                "tf": 2,
                "weight": 562401
              },
              {
                "term": "twice",
                "tf": 1,
                "weight": 188907
              }
            ]
          }
        },
        {
          "id": "guide/dogs.md",
          "version": "sha256:00",
          "range": [
            0,
            57
          ],
          "lines": [
            1,
            4
          ],
          "heading": [
            "Dogs"
          ],
          "content": "Dogs\n====\n\nA dog wants to be walked, and fed twice daily.",
          "score": 217191,
          "tokens": 15,
          "why": {
            "terms": [
              {
                "term": "twice",
                "tf": 1,
                "weight": 217191
              }
            ]
          }
        }
      ],
      "selection": {
        "query": "How to feed cats twice?",
        "budget": 100,
        "tokens_used": 38,
        "passages_considered": 2,
        "passages_selected": 2,
        "index": "sha256:11"
      }
    }
    "##);
}

#[test]
fn response_without_matches_is_empty() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer("hamster", 100)).unwrap(), @r##"
    {
      "passages": [],
      "selection": {
        "query": "hamster",
        "budget": 100,
        "tokens_used": 0,
        "passages_considered": 0,
        "passages_selected": 0,
        "index": "sha256:11"
      }
    }
    "##);
}

#[test]
fn match_beyond_the_budget_is_counted() {
    insta::assert_snapshot!(serde_json::to_string_pretty(&answer("cats", 3)).unwrap(), @r##"
    {
      "passages": [],
      "selection": {
        "query": "cats",
        "budget": 3,
        "tokens_used": 0,
        "passages_considered": 1,
        "passages_selected": 0,
        "index": "sha256:11"
      }
    }
    "##);
}
