// Answers every other question right; the service fails at the last one.
module.exports = class {
  id() { return "small"; }
  async callApi(prompt) {
    const k = Number(prompt.match(/\d+$/)[0]);
    return k === 5 ? { error: "overloaded" } : { output: `${k % 2 ? "a" : "b"}${k}` };
  }
};
