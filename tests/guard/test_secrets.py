"""Keys, tokens and passwords are found; hashes, identifiers and placeholders are not."""

from __future__ import annotations

import base64
import json

import pytest
from patience import within

from turnwise.guard.secrets import SECRET_KINDS, entropy, find_secrets

LINE = "MIIEowIBAAKCAQEA7bq3kd82hf9sdf7h2kfh38fhs8dfh3k2j4h5k6jh7g8f9d0s"
PEM = f"-----BEGIN RSA PRIVATE KEY-----\n{LINE}\n{LINE}\nQ8fj2k==\n-----END RSA PRIVATE KEY-----"
JWT = ".".join(
    base64.urlsafe_b64encode(part).decode().rstrip("=")
    for part in (json.dumps({"alg": "HS256"}).encode(), json.dumps({"sub": "12345"}).encode(), b"signature of it")
)
A36 = "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"

FOUND = {
    "AWS key": ["AKIAIOSFODNN7QWERTYU"],
    "GitHub token": [f"ghp_{A36}", f"github_pat_{A36}"],
    "OpenAI key": [f"sk-{A36}", f"sk-proj-{A36}-_x"],
    "Anthropic key": [f"sk-ant-api03-{A36}-AA"],
    "Google key": [f"AIza{A36[:35]}"],
    "Slack token": [
        "xoxb-123456789012-AbCdEfGhIjKl",
        "https://hooks.slack.com/services/T01ABCDEF/B01ABCDEF/aBcDeFgHiJ",
    ],
    "Stripe key": [f"sk_live_{A36}"],
    "npm token": [f"npm_{A36}"],
    "PyPI token": [f"pypi-{A36}{A36}"],
    "Hugging Face token": [f"hf_{A36}"],
    "access token": [JWT],
    "private key": [PEM, PEM.replace("\n", "\\n"), PEM.replace("RSA ", "OPENSSH ")],
}
SAID = {
    "postgres://admin:s3cr3tPw@db.internal:5432/app": "s3cr3tPw",
    'password = "Tr0ub4dor&3"': "Tr0ub4dor&3",
    "DB_PASSWORD=kJ8#mP2x": "kJ8#mP2x",
    "the password is hunter2.": "hunter2",
    "api_key: 9f8e7d6c5b4a39281706f5e4d3c2b1a0": "9f8e7d6c5b4a39281706f5e4d3c2b1a0",
    '{"client_secret": "q7Rt-2mVx9.Lw4"}': "q7Rt-2mVx9.Lw4",
    "Authorization: Bearer a8F3kL9mN2pQ5rS7tV1wX4yZ6": "a8F3kL9mN2pQ5rS7tV1wX4yZ6",
    "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYQQ2KEYzz9a": "wJalrXUtnFEMI/K7MDENG/bPxRfiCYQQ2KEYzz9a",
}


@pytest.mark.parametrize(("kind", "secret"), [(kind, each) for kind, several in FOUND.items() for each in several])
def test_a_secret_of_known_form_is_found_whole(kind: str, secret: str) -> None:
    text = f"Use it so: {secret} (and keep it)."
    spans = find_secrets(text)
    assert [span.kind for span in spans] == [kind]
    assert text[spans[0].start : spans[0].end] == secret.removeprefix("https://")


@pytest.mark.parametrize(("text", "secret"), SAID.items())
def test_a_value_that_is_called_a_secret_is_found(text: str, secret: str) -> None:
    spans = find_secrets(text)
    assert [text[span.start : span.end] for span in spans] == [secret]
    assert spans[0].kind in SECRET_KINDS


@pytest.mark.parametrize(
    "text",
    [
        "commit 9f8e7d6c5b4a39281706f5e4d3c2b1a0deadbeef",
        "sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae",
        "550e8400-e29b-41d4-a716-446655440000 and token: 550e8400-e29b-41d4-a716-446655440000",
        "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4",
        'api_key = "YOUR_API_KEY", sk-..., sk-xxxxxxxxxxxxxxxxxxxxxxxx, ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx',
        'password = os.environ["DB_PASSWORD"], password=$DB_PASSWORD, password: ${PASSWORD}',
        "The password is required. The token is invalid, and the secret is out.",
        "token = tokenizer.encode(text), token: str, password: string, secret: my-secret-name",
        "The password must be 8 characters; the password is case-sensitive",
        "postgres://user:password@localhost/db, https://USER:APIKEY@example.com",
        "the API key is stored in ~/.config/app.toml or --secret=@path/to/file.json",
        "bearer token RFC6750, OAuth2, the secret santa 2024, Passwords 101: the basics",
        "A key begins with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.",
        "-----BEGIN CERTIFICATE-----\n" + LINE + "\n-----END CERTIFICATE-----",
        "-----BEGIN PUBLIC KEY-----\n" + LINE + "\n-----END PUBLIC KEY-----",
        "scikit-learn, sk-learn, sk-estimators-and-transformers, task-force",
        "encryption_key = crn:v1:staging:public:kms:us-south:a/df0564dd126042ebb03e0224728ce939",
        '"token": "eyJ..."',
    ],
)
def test_what_is_no_secret_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []


def test_an_invisible_mark_does_not_hide_a_key() -> None:
    text = f"ghp_{A36[:10]}\u200b{A36[10:]}"
    assert [(span.start, span.end) for span in find_secrets(text)] == [(0, len(text))]


def test_entropy_grows_with_variety() -> None:
    assert entropy("aaaaaaaa") == 0
    assert entropy("abababab") == pytest.approx(1)
    assert entropy("abcdefgh") == pytest.approx(3)


HOSTILE = ["a", "eyJ", "eyJa.", "-----BEGIN ", f"-----BEGIN PRIVATE KEY-----\n{LINE}", "password", "password=", "a://"]
HOSTILE += ["a:b@", "sk-", "password: a1 ", "AKIA", "secret_key_", " is ", "x://y:"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_texts_do_not_stall(piece: str) -> None:
    with within(3):
        find_secrets(piece * (50_000 // len(piece)))
