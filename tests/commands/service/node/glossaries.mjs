// DeepL's own client for Node.js does with glossaries what its own tests do: `node --test glossaries.mjs`, with DEEPL_SERVER_URL
// and DEEPL_AUTH_KEY in the environment. Each test has the name of what the client promises.
import assert from "node:assert/strict";
import { readFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import * as deepl from "deepl-node";

const client = new deepl.DeepLClient(process.env.DEEPL_AUTH_KEY, {
  serverUrl: process.env.DEEPL_SERVER_URL,
  maxRetries: 0,
});
const MISSING = "96ab91fd-e715-41a1-adeb-5d701f84a483";
const INVALID = "invalid_glossary_id";
const HELLO = entriesOf({ Hello: "Hallo" });
const FRUIT = entriesOf({ Apple: "Apfel", Banana: "Banane" });

function entriesOf(entries) {
  return new deepl.GlossaryEntries({ entries });
}

function dictionary(entries = HELLO, sourceLangCode = "en", targetLangCode = "de") {
  return { sourceLangCode, targetLangCode, entries };
}

/** Run a function with a new glossary of one pair, and delete it. */
async function withGlossary(entries, use, source = "en", target = "de") {
  const glossary = await client.createGlossary(`a ${source}-${target} glossary`, source, target, entries);
  try {
    return await use(glossary);
  } finally {
    await client.deleteGlossary(glossary).catch(() => {});
  }
}

/** Run a function with a new glossary of several pairs, and delete it. */
async function withDictionaries(dictionaries, use) {
  const glossary = await client.createMultilingualGlossary("several pairs", dictionaries);
  try {
    return await use(glossary);
  } finally {
    await client.deleteMultilingualGlossary(glossary).catch(() => {});
  }
}

/** Expect DeepL's error for an id that is none, and its more exact one for an id that is not there. */
async function expectUnknown(call) {
  await assert.rejects(call(INVALID), deepl.DeepLError);
  await assert.rejects(call(MISSING), deepl.GlossaryNotFoundError);
}

function summary({ dictionaries }) {
  return dictionaries.map((each) => [each.sourceLangCode, each.targetLangCode, each.entryCount]);
}

async function entriesIn(glossary) {
  return (await client.getMultilingualGlossaryDictionaryEntries(glossary.glossaryId, "en", "de")).entries;
}

test("a glossary is created, read, listed and deleted", async () => {
  await withGlossary(HELLO, async (created) => {
    assert.deepEqual([created.sourceLang, created.targetLang, created.entryCount], ["en", "de", 1]);
    assert.deepEqual(await client.getGlossary(created.glossaryId), created);
    const listed = await client.listGlossaries();
    assert.deepEqual(listed.find((each) => each.glossaryId === created.glossaryId), created);
    await client.deleteGlossary(created);
    await assert.rejects(client.getGlossary(created.glossaryId), deepl.GlossaryNotFoundError);
  });
  await expectUnknown((id) => client.getGlossary(id));
  await expectUnknown((id) => client.deleteGlossary(id));
});

test("a glossary is created from CSV with quotes", async () => {
  const csv = Buffer.from('sourceEntry1,targetEntry1,en,de\n"source""Entry","target,Entry",en,de');
  const glossary = await client.createGlossaryWithCsv("CSV", "en", "de", csv);
  try {
    const found = (await client.getGlossaryEntries(glossary)).entries();
    assert.deepEqual(found, { sourceEntry1: "targetEntry1", 'source"Entry': "target,Entry" });
  } finally {
    await client.deleteGlossary(glossary);
  }
});

test("a glossary without a name or with an unknown language is rejected, and none is left behind", async () => {
  await assert.rejects(client.createGlossary("", "en", "de", HELLO), deepl.DeepLError);
  await assert.rejects(client.createGlossary("rejected", "en", "xx", HELLO), deepl.DeepLError);
  const names = (await client.listGlossaries()).map((each) => each.name);
  assert.ok(!names.includes("rejected"));
});

test("entries come back as they were sent", async () => {
  await withGlossary(FRUIT, async (glossary) => {
    assert.deepEqual((await client.getGlossaryEntries(glossary)).entries(), FRUIT.entries());
    assert.deepEqual(await client.getGlossaryEntries(glossary.glossaryId), FRUIT);
  });
  await expectUnknown((id) => client.getGlossaryEntries(id));
});

test("a sentence is translated with the terms of a glossary", async () => {
  await withGlossary(entriesOf({ artist: "Maler", prize: "Gewinn" }), async (glossary) => {
    const result = await client.translateText("The artist was awarded a prize.", "en", "de", { glossary });
    assert.match(result.text, /Maler/);
    assert.match(result.text, /Gewinn/);
  });
});

test("single words are translated with the terms of a glossary in both directions", async () => {
  const translate = async (texts, source, target, glossary) =>
    (await client.translateText(texts, source, target, { glossary })).map((each) => each.text);
  await withGlossary(FRUIT, async (glossary) => {
    assert.deepEqual(await translate(["Apple", "Banana"], "en", "de", glossary), ["Apfel", "Banane"]);
  });
  const german = entriesOf({ Apfel: "Apple", Banane: "Banana" });
  await withGlossary(
    german,
    async (glossary) => {
      assert.deepEqual(await translate(["Apfel", "Banane"], "de", "en-US", glossary), ["Apple", "Banana"]);
    },
    "de",
    "en",
  );
});

test("a document is translated with the terms of a glossary", async () => {
  const folder = await mkdtemp(join(tmpdir(), "document-"));
  const [input, output] = [join(folder, "in.txt"), join(folder, "out.txt")];
  try {
    await writeFile(input, "artist\nprize");
    await withGlossary(entriesOf({ artist: "Maler", prize: "Gewinn" }), async (glossary) => {
      await client.translateDocument(input, output, "en", "de", { glossary });
    });
    assert.equal(await readFile(output, "utf8"), "Maler\nGewinn");
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a glossary of other languages than the text's is rejected", async () => {
  await withGlossary(HELLO, async (glossary) => {
    await assert.rejects(client.translateText("Test", null, "de", { glossary }), /sourceLang is required/);
    await assert.rejects(client.translateText("Test", "de", "en-US", { glossary }), /No dictionary found for language pair/);
  });
});

test("a glossary of several pairs is created with and without dictionaries", async () => {
  for (const dictionaries of [[], [dictionary()], [dictionary(), dictionary(HELLO, "de", "en")]]) {
    await withDictionaries(dictionaries, async (created) => {
      const expected = dictionaries.map((each) => [each.sourceLangCode, each.targetLangCode, 1]);
      assert.deepEqual(summary(created).sort(), expected.sort());
      assert.deepEqual(await client.getMultilingualGlossary(created.glossaryId), created);
    });
  }
  await expectUnknown((id) => client.getMultilingualGlossary(id));
});

test("a glossary of several pairs is created from CSV", async () => {
  const csv = "Hello,Guten Tag\nApple,Apfel";
  const created = await client.createMultilingualGlossaryWithCsv("CSV", "en", "de", csv);
  try {
    assert.deepEqual(summary(created), [["en", "de", 2]]);
  } finally {
    await client.deleteMultilingualGlossary(created);
  }
});

test("a glossary of several pairs without a name, with an unknown language or without entries is rejected", async () => {
  const create = (name, ...dictionaries) => client.createMultilingualGlossary(name, dictionaries);
  await assert.rejects(create("", dictionary()), deepl.ArgumentError);
  await assert.rejects(create("rejected", dictionary(HELLO, "en", "xx")), deepl.DeepLError);
  await assert.rejects(create("rejected", dictionary(new deepl.GlossaryEntries())), deepl.DeepLError);
});

test("10,000 entries and entries in other scripts come back as they were sent", async () => {
  const many = Object.fromEntries(Array.from({ length: 10000 }, (_, i) => [`Source-${i}`, `Target-${i}`]));
  for (const entries of [entriesOf(many), entriesOf({ "A%=&": "B&=%", Δぁ: "深", "🪨": "🪵" })]) {
    await withDictionaries([dictionary(entries)], async (glossary) => {
      assert.deepEqual(await entriesIn(glossary), entries);
    });
  }
  await expectUnknown((id) => client.getMultilingualGlossaryDictionaryEntries(id, "en", "de"));
});

test("entries are added to a dictionary", async () => {
  await withDictionaries([dictionary()], async ({ glossaryId }) => {
    const more = dictionary(entriesOf({ Hello: "Guten Tag", Apple: "Apfel" }));
    assert.deepEqual(summary(await client.updateMultilingualGlossaryDictionary(glossaryId, more)), [["en", "de", 2]]);
    const csv = "Hello,Guten Tag\nPear,Birne";
    const updated = await client.updateMultilingualGlossaryDictionaryWithCsv(glossaryId, "en", "de", csv);
    assert.deepEqual(summary(updated), [["en", "de", 3]]);
  });
});

test("a dictionary is replaced and a glossary renamed", async () => {
  await withDictionaries([dictionary()], async (glossary) => {
    const replaced = await client.replaceMultilingualGlossaryDictionary(glossary.glossaryId, dictionary(FRUIT));
    assert.equal(replaced.entryCount, 2);
    assert.deepEqual(await entriesIn(glossary), FRUIT);
    const renamed = await client.updateMultilingualGlossaryName(glossary.glossaryId, "another name");
    assert.equal(renamed.name, "another name");
    assert.equal((await client.getMultilingualGlossary(glossary.glossaryId)).name, "another name");
  });
});

test("a glossary of several pairs is listed and deleted", async () => {
  await withDictionaries([dictionary()], async ({ glossaryId, name, creationTime }) => {
    const listed = await client.listMultilingualGlossaries();
    const found = listed.find((each) => each.glossaryId === glossaryId);
    assert.deepEqual([found.name, found.creationTime], [name, creationTime]);
    await client.deleteMultilingualGlossary(glossaryId);
    await assert.rejects(client.getMultilingualGlossary(glossaryId), deepl.GlossaryNotFoundError);
  });
});

test("one dictionary is deleted, the other stays", async () => {
  await withDictionaries([dictionary(), dictionary(HELLO, "de", "en")], async (glossary) => {
    await client.deleteMultilingualGlossaryDictionary(glossary.glossaryId, "en", "de");
    assert.deepEqual(summary(await client.getMultilingualGlossary(glossary.glossaryId)), [["de", "en", 1]]);
    await assert.rejects(
      client.deleteMultilingualGlossaryDictionary(glossary.glossaryId, "", ""),
      deepl.ArgumentError,
    );
  });
  await expectUnknown((id) => client.deleteMultilingualGlossaryDictionary(id, "en", "de"));
});

test("a glossary of several pairs is used for its own pairs only", async () => {
  const dictionaries = [dictionary(entriesOf({ knight: "Springer" })), dictionary(entriesOf({ Läufer: "carpet" }), "de", "en")];
  await withDictionaries(dictionaries, async (glossary) => {
    const translate = async (text, source, target) => {
      const result = await client.translateText(text, source, target, { glossary });
      return result.text.toLowerCase();
    };
    assert.match(await translate("The knight is very strong.", "en", "de"), /springer/);
    assert.match(await translate("Der Läufer ist super.", "de", "en-US"), /carpet/);
    await assert.rejects(translate("The knight is very strong.", null, "de"), deepl.DeepLError);
    await assert.rejects(translate("The knight is very strong.", "es", "de"), deepl.DeepLError);
  });
});
