/**
 * What credentials look like, in bytes. Each pattern is linear in the length of the text.
 *
 * PEM private keys; AWS access keys; OpenAI, Anthropic and others' `sk-`; GitHub, GitLab, Slack, Google, npm, Hugging Face
 * and Stripe tokens.
 */
const CREDENTIAL = new RegExp(
  [
    String.raw`-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY`,
    String.raw`\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}\b`,
    String.raw`\bsk-[A-Za-z0-9_-]{20}`,
    String.raw`\bgh[oprsu]_[A-Za-z0-9]{20}`,
    String.raw`\bgithub_pat_[A-Za-z0-9_]{20}`,
    String.raw`\bglpat-[A-Za-z0-9_-]{20}`,
    String.raw`\bxox[abeprs]-[A-Za-z0-9-]{10}`,
    String.raw`\bAIza[A-Za-z0-9_-]{35}`,
    String.raw`\bnpm_[A-Za-z0-9]{36}`,
    String.raw`\bhf_[A-Za-z0-9]{30}`,
    String.raw`\b[rs]k_live_[A-Za-z0-9]{16}`,
  ].join("|"),
);

/**
 * Whether content holds what looks like a credential, also where every character takes two bytes.
 *
 * @param content A whole file.
 */
export function holdsSecret(content: Buffer): boolean {
  const text = content.toString("latin1");
  return CREDENTIAL.test(text) || (text.includes("\0") && CREDENTIAL.test(text.replaceAll("\0", "")));
}
