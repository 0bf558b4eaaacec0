"""Equivalent characters, for normalising text before it is parsed.

NFKC (Unicode Standard Annex 15) already maps full-width letters, Roman numeral signs and ligatures; these tables add
the signs that it keeps apart, and the traditional forms of the Chinese characters in this vocabulary.
"""

from __future__ import annotations

DASHES = (
    "\u058a\u05be\u1806\u2010\u2011\u2012\u2013\u2014\u2015\u2043\u2053"
    "\u207b\u208b\u2212\u2796\u2e3a\u2e3b\ufe58\ufe63\uff0d"
)
"""Hyphens, dashes and minus signs; normalised to "-"."""

ARROWS = "→⇒⟶⟹➔➜➝➞➡⇨↦►▶"
"""Arrows from a name to its value; normalised to ":"."""

QUOTES = {
    '"': "“”„‟«»「」『』〝〞″❝❞＂",
    "'": "‘’‚‛‹›′`´❛❜＇",
}
"""Plain quote -> other quotes. A back quote is one of them: as a Markdown code mark it has no meaning here either."""

BRACKETS = {"(": "（﹙⟨〔❨", ")": "）﹚⟩〕❩", "[": "［【〖〚", "]": "］】〗〛", "{": "｛", "}": "｝"}
"""Plain bracket -> other brackets."""

OTHERS = {
    ",": "，﹐",
    ":": "：﹕∶꞉",
    ";": "；﹔",
    "?": "？﹖",
    "!": "！﹗",
    "/": "／⁄∕",
    "~": "～∼〜˜",
    "|": "｜￨│┃¦",
    "+": "＋➕",
    "=": "＝≡",
    "<": "＜〈",
    ">": "＞〉",
    " ": "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000",
}
"""Plain sign -> look-alikes with the same meaning."""

MARKS = {"yes": "✓✔✅☑🗸√👍", "no": "✗✘❌✕✖☒❎🗶×👎"}
"""Answer -> ticks or crosses."""

BOXES = {"on": "☑◉●🔘⬛■", "off": "☐□◻⬜○◯"}
"""Ticked and empty boxes and buttons."""

TRADITIONAL = (
    "专專 业業 两兩 为爲為 于於 仅僅 从從 体體 侧側 倾傾 儿兒 关關 内內 准準 几幾 凭憑 办辦 动動 区區 医醫 压壓 "
    "发發 变變 号號 图圖 声聲 头頭 婴嬰 对對 寻尋 尽盡 层層 属屬 岁歲嵗 师師 并並併 应應 开開 异異 征徵 总總 "
    "扩擴 据據 断斷 无無 时時 显顯 术術 来來 杯盃 极極 构構 样樣 没沒 渗滲 满滿 状狀 现現 疗療 盘盤 真眞 确確 "
    "离離 种種 称稱 筛篩 类類 纠糾 级級 组組 终終 经經 绒絨 结結 给給 络絡 综綜 编編 网網 肿腫 脉脈 虑慮 见見 "
    "视視 认認 议議 论論 证證 评評 识識 诊診 询詢 该該 语語 误誤 说說説 请請 软軟 较較 边邊 过過 还還 释釋 "
    "鉴鑑鑒 针針 铲鏟剷 错錯 镊鑷 阳陽 阴陰 阶階 险險 难難 静靜 颜顏 风風 黄黃 龄齡 怀懷 详詳 检檢 测測 丧喪 "
    "坏壞 减減 损損 伤傷 选選 项項 题題 问問 这這 张張 双雙 观觀 众眾 伪偽 适適 别別 与與 会會 实實 际際 质質 "
    "灶竈 脱脫 增増"
)
"""Simplified Chinese characters of the vocabulary, each followed by its traditional or variant forms."""
