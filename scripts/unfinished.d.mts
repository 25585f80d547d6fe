export declare const UNFINISHED: readonly string[];
