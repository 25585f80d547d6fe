/** Certificates for a test, made by openssl. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

/** A key and its certificate, in PEM form. */
export interface Identity {
  key: string;
  cert: string;
}

/** An authority, and what it has signed. */
export interface Certificates {
  ca: string;
  /** For localhost and 127.0.0.1. */
  server: Identity;
  client: Identity;
}

/** Makes an authority and two certificates that are good for a day. */
export function makeCertificates(): Certificates {
  const folder = mkdtempSync(path.join(tmpdir(), "envport-test-"));
  const openssl = (...words: string[]): void => {
    execFileSync("openssl", words, { cwd: folder, stdio: "ignore" });
  };
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
  const sign = (name: string, extensions: string): Identity => {
    writeFileSync(path.join(folder, "extensions"), extensions);
    openssl("req", ...key, "-keyout", `${name}.key`, "-out", `${name}.csr`, "-subj", `/CN=${name}`);
    const authority = ["-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions"];
    openssl("x509", "-req", "-in", `${name}.csr`, "-days", "1", "-out", `${name}.crt`, ...authority);
    return { key: read(`${name}.key`), cert: read(`${name}.crt`) };
  };
  const read = (file: string): string => readFileSync(path.join(folder, file), "utf8");
  try {
    openssl(
      "req",
      "-x509",
      ...key,
      "-keyout",
      "ca.key",
      "-out",
      "ca.crt",
      "-days",
      "1",
      "-subj",
      "/CN=test authority",
    );
    return {
      ca: read("ca.crt"),
      server: sign("server", "subjectAltName=DNS:localhost,IP:127.0.0.1\n"),
      client: sign("client", "extendedKeyUsage=clientAuth\n"),
    };
  } finally {
    rmSync(folder, { recursive: true });
  }
}
