"""Retrieval: similar texts get similar vectors, so that the search works; then only what was found is in the prompt."""

import math

import openai
import pytest

import fake_llm
from fake_llm import Embedding

# --- the app -------------------------------------------------------------------------------------


class Library:
    """Answers from its documents."""

    def __init__(self, documents):
        self.client = openai.OpenAI()
        self.documents = documents
        self.vectors = self.embed(documents)

    def embed(self, texts):
        return [
            item.embedding for item in self.client.embeddings.create(model="text-embedding-3-small", input=texts).data
        ]

    def search(self, question, count=1):
        [wanted] = self.embed([question])
        ranked = sorted(zip(self.vectors, self.documents, strict=True), key=lambda pair: -cosine(wanted, pair[0]))
        return [document for _, document in ranked[:count]]

    def answer(self, question):
        context = "\n".join(self.search(question))
        completion = self.client.chat.completions.create(
            model="gpt-5",
            messages=[
                {"role": "system", "content": f"Answer from this only:\n{context}"},
                {"role": "user", "content": question},
            ],
        )
        return completion.choices[0].message.content


def cosine(left, right):
    return sum(a * b for a, b in zip(left, right, strict=True)) / (math.hypot(*left) * math.hypot(*right))


# --- its tests -----------------------------------------------------------------------------------

DOCUMENTS = [
    "Orders are shipped within two days.",
    "Books can be returned within thirty days of purchase.",
    "The shop opens at nine in the morning.",
]


def test_the_model_sees_the_document_that_fits_and_no_other():
    with fake_llm.intercept(["Thirty days."]) as fake:
        assert Library(DOCUMENTS).answer("Within how many days can books be returned?") == "Thirty days."

    prompt = fake.calls.chat[0].system
    assert [document for document in DOCUMENTS if document in prompt] == [DOCUMENTS[1]]


def test_documents_are_embedded_once_and_in_one_call():
    with fake_llm.intercept(["a", "b"]) as fake:
        library = Library(DOCUMENTS)
        library.answer("When does the shop open?")
        library.answer("When are orders shipped?")

    embedded = [call.body["input"] for call in fake.calls.filter(operation="embeddings")]
    assert embedded == [DOCUMENTS, ["When does the shop open?"], ["When are orders shipped?"]]


@pytest.mark.parametrize(("towards", "found"), [([1.0, 0.1], "north"), ([0.1, 1.0], "east")])
def test_the_nearest_vector_wins(towards, found):
    with fake_llm.intercept() as fake:
        documents = fake.when(operation="embeddings", times=1)
        documents.reply([Embedding([1.0, 0.0]), Embedding([0.0, 1.0])])
        fake.when(operation="embeddings").reply(Embedding(towards))

        assert Library(["north", "east"]).search("Where to?") == [found]
