import type { StandardJSONSchemaV1, StandardSchemaV1 } from "@standard-schema/spec";

/**
 * A schema of any library that implements both Standard Schema and Standard JSON Schema (zod 4.2, arktype 2.1.28,
 * valibot through its adapter `toStandardJsonSchema`).
 */
export interface Schema<Input = unknown, Output = Input> {
  readonly "~standard": StandardSchemaV1.Props<Input, Output> & StandardJSONSchemaV1.Props<Input, Output>;
}

/** The type of a value that a schema has validated. */
export type SchemaOutput<S extends Schema> = StandardSchemaV1.InferOutput<S>;
