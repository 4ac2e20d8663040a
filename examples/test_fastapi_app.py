"""A web application under `TestClient`: the app runs in another thread, and its calls are answered all the same."""

import openai
import pytest
from fastapi import FastAPI, HTTPException
from fastapi.testclient import TestClient
from pydantic import BaseModel

from fake_llm import Error, FakeLLM

# --- the app -------------------------------------------------------------------------------------

app = FastAPI()


class Question(BaseModel):
    text: str


@app.post("/ask")
async def ask(question: Question):
    async with openai.AsyncOpenAI(max_retries=0) as client:
        try:
            completion = await client.chat.completions.create(
                model="gpt-5",
                messages=[
                    {"role": "system", "content": "Answer customers of a bookshop."},
                    {"role": "user", "content": question.text},
                ],
            )
        except openai.RateLimitError as error:
            headers = {"Retry-After": error.response.headers.get("retry-after", "60")}
            raise HTTPException(503, "Please try again later.", headers) from error
    return {"answer": completion.choices[0].message.content, "tokens": completion.usage.total_tokens}


# --- its tests -----------------------------------------------------------------------------------


@pytest.fixture
def web():
    with TestClient(app) as client:
        yield client


@pytest.mark.fake_llm(["We open at nine."])
def test_the_answer_reaches_the_browser(web, fake_llm: FakeLLM):
    response = web.post("/ask", json={"text": "When do you open?"})

    assert response.json() == {"answer": "We open at nine.", "tokens": fake_llm.usage.total}
    assert fake_llm.calls[0].system == "Answer customers of a bookshop."
    assert fake_llm.calls[0].last_user_text == "When do you open?"


@pytest.mark.fake_llm([Error(429, retry_after=7)])
def test_a_limit_of_the_provider_becomes_a_503(web):
    response = web.post("/ask", json={"text": "When do you open?"})

    assert response.status_code == 503
    assert response.headers["retry-after"] == "7"


def test_a_bad_request_costs_nothing(web, fake_llm: FakeLLM):
    assert web.post("/ask", json={"txt": "typo"}).status_code == 422

    assert not fake_llm.calls
