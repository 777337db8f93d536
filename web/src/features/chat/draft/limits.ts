/** maxLength is the maximum length of a question, in characters. */
export const maxLength = 32_000
