// Writes CSV cells as lmod_train.escaping.for_csv does: no formula, no invisible character, nothing lost.

const COMMANDS = /[\u0000-\u001f\u007f-\u009f\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]|\p{Surrogate}/gu;
const WRITTEN = /\\(?=u[0-9a-f]{4}|U[0-9a-f]{8})/g;
const FORMULA = /^['\s]*[=+\-@＝＋－＠]/;
const NUMBER = /^[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/;

function codeOf(character) {
  const number = character.codePointAt(0);
  return number < 0x10000 ? `\\u${number.toString(16).padStart(4, "0")}` : `\\U${number.toString(16).padStart(8, "0")}`;
}

function csvCell(value) {
  const text = String(value).replace(WRITTEN, "\\u005c").replace(COMMANDS, codeOf);
  return FORMULA.test(text) && !NUMBER.test(text) ? `'${text}` : text;
}

const quoted = text => `"${text.replaceAll('"', '""')}"`;
const csvOf = rows => rows.map(row => row.map(value => quoted(csvCell(value))).join(",")).join("\r\n") + "\r\n";
