"""An app as many are: its client is made when the module is imported, long before a test begins."""

import openai

client = openai.OpenAI()


def reply_to(mail: str) -> str:
    """The answer to a customer's mail."""
    completion = client.chat.completions.create(
        model="gpt-5",
        messages=[{"role": "system", "content": "Sign as the support team."}, {"role": "user", "content": mail}],
    )
    return completion.choices[0].message.content or ""
