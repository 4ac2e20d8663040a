"""`unittest.TestCase`: a decorated class has a block for each test, from before `setUp` to the last cleanup."""

import unittest

from google import genai

import fake_llm
from fake_llm import Error, FakeLLM, Reply

# --- the app -------------------------------------------------------------------------------------


class Translator:
    def __init__(self, language):
        self.client = genai.Client()
        self.language = language

    def translate(self, text):
        try:
            response = self.client.models.generate_content(
                model="gemini-3-flash", contents=text, config={"system_instruction": f"Translate into {self.language}."}
            )
        except genai.errors.ClientError as error:
            return f"[{error.code}] {text}"
        return response.text or text


# --- its tests -----------------------------------------------------------------------------------


@fake_llm.intercept()
class TestTranslator(unittest.TestCase):
    def setUp(self):
        self.translator = Translator("French")

    def test_a_text_is_translated(self, fake: FakeLLM):
        fake.push("Bonjour")

        self.assertEqual(self.translator.translate("Hello"), "Bonjour")
        self.assertEqual(fake.calls[0].system, "Translate into French.")
        self.assertEqual(fake.calls[0].last_user_text, "Hello")

    def test_a_text_that_the_model_blocks_stays_as_it_is(self, fake: FakeLLM):
        fake.push(Reply(finish_reason="content_filter"))

        self.assertEqual(self.translator.translate("Hello"), "Hello")

    def test_an_error_is_shown_beside_the_text(self, fake: FakeLLM):
        for status in (400, 403, 404):
            with self.subTest(status=status):
                fake.push(Error(status))
                self.assertEqual(self.translator.translate("Hello"), f"[{status}] Hello")


class TestOneOfThem(unittest.TestCase):
    @fake_llm.intercept(["Hallo"])
    def test_with_a_script_of_its_own(self):
        self.assertEqual(Translator("German").translate("Hello"), "Hallo")


if __name__ == "__main__":
    unittest.main()
