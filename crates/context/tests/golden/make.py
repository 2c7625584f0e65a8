"""Makes the expected cache and answers from `sources`, by the format's rules and nothing of ours.

Run it in this folder after a change of the sources: `python3 make.py`.
"""

import hashlib
import json
import os
import pathlib
import re
import shutil
import struct

HERE = pathlib.Path(__file__).parent
CREATED_AT = "2023-11-14T22:13:20Z"
BUILD_CONFIG = {"version": "1", "hash_algorithm": "sha256"}
# Python's own split() also splits at U+001C to U+001F, which are no white space in Unicode.
WHITE_SPACE = re.compile(
    "[\t\n\x0b\x0c\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"
)
MOST = 2**53 - 1
QUERIES = [
    ("everything", "contract", MOST),
    ("nothing-fits-but-empty", "contract", 0),
    ("tight", "CONTRACT the", 13),
    ("folded", "ΟΔΟΣ straße. same", 30),
    ("twice", "the the words contract", 40),
    ("no-words", " \t", 9),
    ("absent", "nowhere to be found", 20),
]


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def pretty(value):
    return json.dumps(value, ensure_ascii=False, indent=2)


def words(text):
    return [word for word in WHITE_SPACE.split(text.lower()) if word]


def single(number):
    return struct.unpack("f", struct.pack("f", number))[0]


def shortest(number):
    """The shortest text that single precision reads back, with at least one decimal."""
    for digits in range(1, 10):
        text = f"{number:.{digits}g}"
        if single(float(text)) == number and "e" not in text:
            return text if "." in text else text + ".0"
    raise ValueError(number)


def read_sources():
    found = []
    for folder, _, names in os.walk(HERE / "sources"):
        for name in names:
            path = pathlib.Path(folder, name)
            if name.endswith(".md") and name != ".md" and not path.is_symlink():
                source = path.relative_to(HERE / "sources").as_posix()
                content = path.read_bytes().decode("utf-8")
                version = "sha256:" + hashlib.sha256(content.encode()).hexdigest()
                found.append((source.lower(), version, source, content))
    return sorted(found, key=lambda one: one[0].encode())


def make_cache(documents):
    cache = HERE / "cache"
    shutil.rmtree(cache, ignore_errors=True)
    (cache / "documents").mkdir(parents=True)
    seen, listed = {}, []
    for id, version, source, content in documents:
        short = version.removeprefix("sha256:")[:12]
        seen[short] = seen.get(short, 0) + 1
        name = short if seen[short] == 1 else f"{short}-{seen[short]}"
        file = f"documents/{name}.json"
        document = {
            "id": id,
            "version": version,
            "source": source,
            "content": content,
            "metadata": {},
        }
        (cache / file).write_bytes(compact(document).encode())
        listed.append({"id": id, "version": version, "file": file})
    named = compact(BUILD_CONFIG) + "".join(
        f"{one['id']}:{one['version']}" for one in listed
    )
    manifest = {
        "cache_version": "sha256:" + hashlib.sha256(named.encode()).hexdigest(),
        "build_config": BUILD_CONFIG,
        "created_at": CREATED_AT,
        "document_count": len(listed),
        "documents": listed,
    }
    (cache / "manifest.json").write_bytes(pretty(manifest).encode())
    index = {one["id"]: one["file"] for one in listed}
    (cache / "index.json").write_bytes(pretty(index).encode())


def resolve(documents, query, budget):
    terms = words(query)
    judged = []
    for id, version, _, content in documents:
        found = words(content)
        matches = sum(terms.count(word) for word in found)
        score = single(single(matches) / single(len(found))) if found else 0.0
        tokens = (len(content.encode()) + 3) // 4
        why = {
            "query_terms": terms,
            "term_matches": matches,
            "total_words": len(found),
        }
        judged.append(
            {
                "id": id,
                "version": version,
                "content": content,
                "score": score,
                "tokens": tokens,
                "why": why,
            }
        )
    judged.sort(key=lambda one: (-one["score"], one["id"].encode()))
    left, selected = budget, []
    for one in judged:
        if one["tokens"] <= left:
            left -= one["tokens"]
            selected.append(one)
    return {
        "documents": selected,
        "selection": {
            "query": query,
            "budget": budget,
            "tokens_used": budget - left,
            "documents_considered": len(judged),
            "documents_selected": len(selected),
            "documents_excluded_by_budget": len(judged) - len(selected),
        },
    }


def main():
    documents = read_sources()
    make_cache(documents)
    answers = HERE / "answers"
    shutil.rmtree(answers, ignore_errors=True)
    answers.mkdir()
    for name, query, budget in QUERIES:
        answer = compact(resolve(documents, query, budget)) + "\n"
        # json prints double precision; no content here looks like a score.
        score = re.compile(r'(?<="score":)[^,]+')
        answer = score.sub(lambda found: shortest(float(found[0])), answer)
        (answers / f"{name}.json").write_bytes(answer.encode())


if __name__ == "__main__":
    main()
