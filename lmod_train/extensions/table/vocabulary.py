"""Words of clinics' tables: names of columns, and values of them, in English, German, French, Spanish, Portuguese,
Chinese and Japanese. To add a language or a word, extend a row.

Words are compared by `plain`: without case, accents, blanks and signs. English and Chinese names of diseases are also
those of `lmod_train.core.vocabulary.conditions`.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from functools import lru_cache


def plain(text: str) -> str:
    """Return the letters and digits of a text, without case and accents.

    Example:
        >>> plain("N\u00b0 Dossier"), plain("\u0152il"), plain("Patienten-ID"), plain("\u6027\u522b")
        ('nodossier', 'oeil', 'patientenid', '性别')
    """
    return _plain(text) if len(text) <= _SHORT else _plain.__wrapped__(text)


_SHORT = 80
"""Characters of a text that is kept: cells of a table repeat, and each is looked at in several ways."""


@lru_cache(maxsize=65_536)
def _plain(text: str) -> str:
    ligatures = text.replace("\u0153", "oe").replace("\u0152", "oe").replace("\u00b0", "o")
    parts = unicodedata.normalize("NFKD", ligatures.casefold())
    return "".join(c for c in parts if c.isalnum() and not unicodedata.combining(c))


def _words(text: str) -> frozenset[str]:
    return frozenset(plain(word) for word in text.split(","))


HEADERS: Mapping[str, frozenset[str]] = {
    "image": _words(
        "image, image id, image name, image file, image filename, image path, img, img id, img name, img path, "
        "filename, file name, file, file path, filepath, path, fundus image, fundus photo, photo, photo id, "
        "photograph, picture, pic, image key, id code, image number, Datei, Dateiname, Bild, Bilddatei, "
        "Bildname, Bild-ID, Foto, Fotodatei, Aufnahme, fichier, nom de fichier, nom du fichier, nom fichier, "
        "cliche, nom image, photographie, imagen, archivo, nombre de archivo, nombre archivo, fichero, "
        "fotografia, archivo imagen, archivo de imagen, imagem, arquivo, nome do arquivo, nome arquivo, "
        "ficheiro, nome do ficheiro, arquivo de imagem, 文件名, 图片, 图像, 图像名, 图像名称, 图片名, 图片名称, "
        "照片, 文件, 图像文件, 图片文件, 影像, 影像编号, 图像编号, 图片编号, 画像, ファイル名, 画像ファイル, "
        "画像名, 画像ファイル名"
    ),
    "patient": _words(
        "patient, patient id, patient no, patient number, patient code, pat id, patid, pat, pt, pt id, pid, "
        "subject, subject id, mrn, medical record number, uhid, hospital number, hospital no, hosp no, "
        "hospital id, nhs number, participant, participant id, person id, Patienten-ID, Patient-Nr, "
        "Patientennummer, Patienten-Nr, Pat-Nr, Patnr, Patienten-Code, Patientencode, numero de dossier, "
        "no dossier, n dossier, dossier, identifiant patient, id patient, ipp, nip, code patient, paciente, "
        "id paciente, codigo paciente, codigo del paciente, historia clinica, nhc, no historia, num historia, "
        "prontuario, no prontuario, codigo do paciente, id do paciente, processo, no processo, utente, "
        "no utente, 患者, 患者编号, 患者id, 病人, 病人编号, 病人id, 病历号, 病案号, 门诊号, 住院号, 登记号, "
        "患者号, 受试者编号, 患者番号, 患者ID, カルテ番号"
    ),
    "name": _words(
        "name, patient name, full name, surname, first name, last name, given name, family name, "
        "patient surname, Nachname, Vorname, Patientenname, nom, prenom, nom du patient, nombre, apellidos, "
        "apellido, nombre y apellidos, nombre del paciente, nome, nome do paciente, sobrenome, apelido, 姓名, "
        "患者姓名, 氏名, consultant, doctor, physician, ophthalmologist, examiner, operator, technician, grader, "
        "rater, surgeon, Arzt, Aerztin, Untersucher, medecin, medico, examinador, 医生, 医师, 主治医生, 检查者, "
        "担当医"
    ),
    "laterality": _words(
        "eye, eyes, laterality, side, eye side, exam eye, eye laterality, which eye, od os, odos, r l, lat, "
        "Auge, Seite, Augenseite, oeil, cote, lateralite, ojo, lado, lateralidad, olho, lateralidade, 眼别, 眼, "
        "左右, 左右眼, 侧别, 眼侧, 患眼, 左右別, 眼側"
    ),
    "diagnosis": _words(
        "diagnosis, diagnoses, diag, dx, disease, diseases, condition, pathology, clinical diagnosis, "
        "main diagnosis, primary diagnosis, final diagnosis, eye diagnosis, icd, icd10, icd code, "
        "diagnosis code, diagnostic keywords, Diagnose, Diagnosen, Hauptdiagnose, Erkrankung, Krankheit, "
        "Augendiagnose, diagnostic, diagnostics, maladie, pathologie, diagnostic principal, diagnostico, "
        "enfermedad, patologia, diagnostico principal, doenca, diagnosticos, 诊断, 疾病, 病种, 临床诊断, "
        "诊断结果, 疾病名称, 主要诊断, 診断, 診断名, 病名"
    ),
    "grade": _words(
        "grade, stage, severity, grading, dr grade, dr level, dr stage, dr severity, retinopathy grade, "
        "dme grade, risk of macular edema, macular edema grade, amd stage, amd grade, glaucoma stage, "
        "severity grade, Stadium, Schweregrad, Grad, Stadieneinteilung, stade, gravite, severite, grado, "
        "estadio, gravedad, severidad, grau, estagio, gravidade, grade rd, grau rd, 分级, 分期, 等级, 级别, "
        "严重程度, dr分级, 糖网分级, 病期, 重症度"
    ),
    "sex": _words(
        "sex, gender, patient sex, patient gender, m f, Geschlecht, Geschl, sexe, genre, sexo, genero, 性别, 性別"
    ),
    "age": _words(
        "age, age years, age in years, age yrs, patient age, age y, age at visit, age at exam, Alter, "
        "Alter Jahre, Lebensalter, Alter in Jahren, age ans, edad, edad anos, idade, idade anos, 年龄, 年齢"
    ),
    "birth": _words(
        "dob, date of birth, birth date, birthdate, birthday, birth year, year of birth, yob, Geburtsdatum, "
        "Geburtsjahr, Geburtstag, Jahrgang, date de naissance, ddn, annee de naissance, ne le, "
        "fecha de nacimiento, ano de nacimiento, data de nascimento, ano de nascimento, ano nascimento, "
        "data nascimento, 出生日期, 出生年份, 出生年, 生日, 生年月日"
    ),
    "split": _words(
        "split, subset, partition, usage, data split, dataset split, Aufteilung, particion, particao, conjunto, "
        "划分, 数据划分, 数据集划分"
    ),
    "camera": _words(
        "camera, device, camera model, machine, scanner, fundus camera, Kamera, Geraet, Gerät, appareil, camara, "
        "dispositivo, equipo, equipamento, aparelho, 相机, 设备, 机型, 拍摄设备, 眼底相机"
    ),
    "modality": _words("modality, imaging modality, image type, Modalitaet, modalite, modalidad, modalidade, 模态"),
    "quality": _words("quality, image quality, Bildqualitaet, Bildqualität, qualite, calidad, qualidade, 图像质量"),
    "date": _words(
        "date, visit date, date of visit, exam date, date of exam, examination date, date of examination, "
        "study date, acquisition date, image date, date taken, visit, scan date, timestamp, Datum, "
        "Untersuchungsdatum, Aufnahmedatum, Untersuchung am, Besuchsdatum, date d examen, date examen, "
        "date de l examen, date de visite, fecha, fecha de visita, fecha de examen, fecha examen, "
        "fecha exploracion, data, data do exame, data exame, data da consulta, 日期, 检查日期, 就诊日期, "
        "拍摄日期, 检查时间, 検査日, 撮影日"
    ),
    "notes": _words(
        "notes, note, comment, comments, remark, remarks, free text, report, clinical notes, clinical note, "
        "narrative, history, description, findings text, gpt4 summary, Bemerkung, Bemerkungen, Kommentar, "
        "Anmerkung, Anmerkungen, Notiz, commentaire, commentaires, remarque, remarques, observations, "
        "observaciones, comentarios, notas, comentario, observacoes, obs, 备注, 说明, 描述, 报告, 病史, 備考"
    ),
    "index": _words(
        "index, idx, no, nr, number, row, row id, row number, row no, s no, sno, sr no, srno, serial, serial no, "
        "lfd nr, lfdnr, Lfd, Nummer, numero, num, n, 序号, 編號, 番号, unnamed 0, ordem, orden, record no"
    ),
    "licence": _words("licence, license, Lizenz, copyright, licencia, licenca, 许可"),
    "question": _words("question, prompt, query, Frage, pregunta, pergunta, 问题, 質問"),
    "answer": _words("answer, ground truth, gt, gt answer, Antwort, reponse, respuesta, resposta, 答案, 正解"),
    "category": _words("category, l2 category, l2category, subcategory, Kategorie, categorie, categoria, 类别"),
    "hint": _words("hint, Hinweis, indice, pista, dica, 提示"),
    "box": _words(
        "bbox, box, bounding box, boxes, xmin, ymin, xmax, ymax, x min, y min, x max, y max, x1, y1, x2, y2, "
        "disc box, od box, od bbox, bounding boxes, xywh, roi"
    ),
}
"""Meaning of a column -> its names."""

WEAK: Mapping[str, frozenset[str]] = {
    "patient": _words(
        "proband, probanden id, pseudonym, person, fall nr, akte, piz, kis nr, hn, chart, kennung, kuerzel, subj, id, "
        "code, case, case id, case no, study, study id, record, record id, accession, accession no, "
        "accession number, uid, key, Fall, Fallnummer, Fall-ID, cas, caso, registro, identifiant, identificador, "
        "编号, 病例, 病例号, 检查号, 流水号"
    ),
    "diagnosis": _words(
        "label, labels, class, class name, category, target, finding, findings, impression, result, keywords, "
        "code, Klasse, Befund, Label, classe, resultat, clase, etiqueta, hallazgo, resultado, hallazgos, achado, "
        "achados, 标签, 类别, 分类, 结果, 所见"
    ),
    "grade": _words("level, score, class, label, niveau, nivel, Stufe, 水平"),
}
"""Meaning -> names that often have it, and often another: values must show it, or the user says so."""

SIDES: Mapping[str, frozenset[str]] = {
    "right": _words(
        "right, r, od, re, right eye, oculus dexter, dexter, rechts, rechtes auge, ra, re auge, rechtes, rechte, "
        "droit, droite, oeil droit, derecho, derecha, ojo derecho, direito, direita, olho direito, dto, dir, 右, "
        "右眼"
    ),
    "left": _words(
        "left, l, os, le, left eye, oculus sinister, sinister, links, linkes auge, la, li, linkes, linke, "
        "gauche, oeil gauche, og, izquierdo, izquierda, ojo izquierdo, oi, esquerdo, esquerda, olho esquerdo, "
        "oe, esq, izq, 左, 左眼"
    ),
}

SEX_WORDS: Mapping[str, frozenset[str]] = {
    "female": _words(
        "female, woman, f, fem, weiblich, w, frau, femme, feminin, feminine, mujer, femenino, femenina, "
        "feminino, feminina, mulher, 女, 女性, 女士"
    )
    | {"♀"},
    "male": _words(
        "male, man, maennlich, männlich, mann, m, homme, masculin, hombre, masculino, masculina, varon, homem, "
        "男, 男性, 先生"
    )
    | {"♂"},
}

SPLITS: Mapping[str, frozenset[str]] = {
    "train": _words("train, training, tr, trn, treino, entrenamiento, entrainement, apprentissage, 训练, 训练集"),
    "val": _words("val, valid, validation, dev, validacion, validacao, validierung, 验证, 验证集"),
    "test": _words("test, testing, tst, teste, prueba, 测试, 测试集"),
}

YES = _words("yes, y, true, 1, ja, j, oui, o, si, s, sim, positive, pos, present, +, 是, 有, 阳性") | {"+"}

NO = _words("no, n, false, 0, nein, non, nao, negative, neg, absent, keine, 否, 无, 阴性") | {"-"}

MISSING = _words(
    "na, n a, nan, null, none, nil, unknown, unk, not known, missing, not recorded, nd, k a, ka, unbekannt, "
    "inconnu, desconocido, desconhecido, 不详, 未知, 无记录, 不明, not available, s d"
) | {"", "?", "-", "--", ".", "/"}
"""Cells without a value."""

DIAGNOSES: Mapping[str, frozenset[str]] = {
    "cataract": _words("Katarakt, Grauer Star, cataracte, catarata, cortical cataract, nuclear cataract, 白内障"),
    "diabetic retinopathy": _words(
        "diabetische Retinopathie, DRP, retinopathie diabetique, rd, retinopatia diabetica, "
        "diabetic retinopathy, 糖網病, 糖尿病網膜症, nichtproliferative diabetische Retinopathie, "
        "proliferative diabetische Retinopathie, NPDRP, PDRP, retinopathie diabetique non proliferante, "
        "retinopathie diabetique proliferante, rdnp, rdp, retinopatia diabetica no proliferativa, "
        "retinopatia diabetica proliferativa, retinopatia diabetica nao proliferativa, mild npdr, moderate npdr, "
        "severe npdr, mild dr, moderate dr, severe dr, proliferative dr, mild nonproliferative retinopathy, "
        "moderate non proliferative retinopathy, 糖尿病视网膜病变"
    ),
    "glaucoma": _words(
        "Glaukom, POWG, PCOWG, Gruener Star, Grüner Star, glaucome, glaucoma, poag, pacg, ntg, Offenwinkelglaukom, "
        "Winkelblockglaukom, Normaldruckglaukom, glaucome a angle ouvert, gpao, gaa, "
        "glaucoma primario de angulo abierto, gpaa, glaucoma primario de angulo aberto, 緑内障"
    ),
    "normal": _words(
        "o B, ohne Befund, ohne pathologischen Befund, unauffaellig, unauffällig, gesund, normalbefund, normal, "
        "sain, saine, rien a signaler, ras, sano, sana, sin hallazgos, sin alteraciones, saudavel, "
        "sem alteracoes, sem achados, wnl, within normal limits, nad, no abnormality detected, "
        "no apparent disease, normal fundus, healthy eye, normal eye, fundus normal, fondo de ojo normal, "
        "fundo normal, 正常, 未见异常, 异常なし, 異常なし, 正常眼底"
    ),
    "age-related macular degeneration": _words(
        "AMD, ARMD, altersbedingte Makuladegeneration, Makuladegeneration, DMLA, degenerescence maculaire, "
        "degenerescence maculaire liee a l age, DMAE, degeneracion macular, "
        "degeneracion macular asociada a la edad, DMRI, degeneracao macular, "
        "degeneracao macular relacionada a idade, dmi, 加齢黄斑変性, trockene amd, feuchte amd, wet amd, "
        "dry amd, early amd, intermediate amd, late amd"
    ),
    "drusen": _words("Drusen, druse, drusas, drusenoid, 玻璃膜疣"),
    "macular edema": _words(
        "Makulaoedem, Makulaödem, DMOe, diabetisches Makulaoedem, diabetisches Makulaödem, oedeme maculaire, "
        "omd, edema macular, edema macular diabetico, edema de macula, csme, dmo, cme, cystoid macular edema, "
        "黄斑浮腫"
    ),
    "vascular occlusion": _words(
        "Venenverschluss, Zentralvenenverschluss, Astvenenverschluss, Gefaessverschluss, RVV, ZVV, VAV, BRVO, "
        "CRVO, BRAO, CRAO, occlusion veineuse, ovr, ovcr, obvr, occlusion de la veine centrale de la retine, "
        "oclusion venosa, oclusion venosa retiniana, orvr, oclusao venosa, oclusao venosa da retina, "
        "oclusao vascular, 視網膜静脈閉塞症, 网膜静脈閉塞症, 網膜静脈閉塞症, 网膜静脉阻塞"
    ),
    "myopic fundus": _words(
        "pathologische Myopie, myopie forte, myopie pathologique, miopia patologica, miopia magna, fundo miope, "
        "病理性近视, 病的近視"
    ),
    "hypertensive retinopathy": _words(
        "hypertensive Retinopathie, Fundus hypertonicus, retinopathie hypertensive, retinopatia hipertensiva, "
        "高血压视网膜病变, 高血圧網膜症"
    ),
    "retinal detachment": _words(
        "Netzhautabloesung, Netzhautablösung, Amotio, decollement de retine, desprendimiento de retina, "
        "descolamento de retina, 网膜剥離, 網膜剥離, 视网膜脱离"
    ),
    "scar": _words("Narbe, cicatrice, cicatriz"),
    "nevus": _words("Nävus, Naevus, naevus, nevo, nevus choroidien"),
    "hemorrhage": _words("Blutung, Netzhautblutung, hemorragie, hemorragia, vitreous hemorrhage"),
}
"""Disease -> words of tables: names in other languages, abbreviations, and subtypes, which are filed under it."""

BOXED: Mapping[str, frozenset[str]] = {
    "optic disc": _words(
        "Papille, Sehnervenpapille, Sehnervenkopf, papille optique, tete du nerf optique, papila, papila optica, "
        "disco optico, cabeza del nervio optico, cabeca do nervo optico, 視神経乳頭"
    ),
    "optic cup": _words("Exkavation, Papillenexkavation, excavation, excavacion, excavacao, escavacao, 視神経乳頭陥凹"),
    "fovea": _words("Sehgrube, fovea central, 中心窩"),
    "macula": _words("Makula, gelber Fleck, macula, mancha amarilla"),
    "macular hole": _words("Makulaforamen, Makulaloch, trou maculaire, agujero macular, buraco macular, 黄斑円孔"),
}
"""Structures in boxes; English and Chinese names are those of `lmod_train.core.vocabulary.structures`, too."""

SEVERITIES = _words(
    "mild, moderate, severe, early, late, advanced, incipient, dry, wet, leicht, leichte, maessig, mäßig, mittel,"
    "mittlere, schwer, schwere, beginnend, beginnende, trocken, trockene, feucht, feuchte, legere, moderee, severa,"
    "leve, moderada, grave, avanzada, inicial, seca, humeda, umida, seche, humide, 轻度, 中度, 重度"
)
"""Words of degree beside a disease, which stays the same."""

ICD_10: Mapping[str, str] = {
    "H36.0": "diabetic retinopathy",
    "H25": "cataract",
    "H26": "cataract",
    "H28": "cataract",
    "H40.1": "glaucoma",
    "H40.2": "glaucoma",
    "H40.3": "glaucoma",
    "H40.4": "glaucoma",
    "H40.5": "glaucoma",
    "H40.6": "glaucoma",
    "H40.8": "glaucoma",
    "H40.9": "glaucoma",
    "H35.31": "age-related macular degeneration",
    "H35.32": "age-related macular degeneration",
    "H34": "vascular occlusion",
    "H33.0": "retinal detachment",
    "Z01.00": "normal",
}
"""Beginning of a code of ICD-10 -> disease; H40.0 is a suspicion, and H35.3 is more than one disease."""

NEGATIONS = (
    "no ", "not ", "without ", "kein ", "keine ", "keinen ", "ohne ", "sans ", "pas de ", "absence de ", "sin ", "sem ",
    "non ", "nao ", "não ", "negative for ", "no evidence of ", "no signs of ", "ausencia de ", "free of ",
    "无", "未见", "没有", "非",
)  # fmt: skip
"""What stands before a disease that is denied."""

DOUBTS = (
    "suspect", "suspicio", "verdacht", "v.a.", "v. a.", "sospech", "suspeit", "soupcon", "soupçon",
    "possible", "probable", "posible", "possivel", "provavel", "likely", "query", "r/o", "rule out",
    "fraglich", "moeglich", "möglich", "?", "疑似", "可疑", "可能", "待排", "疑い", "borderline", "at risk",
)  # fmt: skip
"""What makes a disease a suspicion, anywhere in a cell."""

PASTS = (
    "history of", "h/o", "z.n.", "z. n.", "zustand nach", "status post", "s/p", "st.p.", "antecedent", "antécédent",
    "post-op", "postop", "operated", "previous", "treated", "after ", "nach ", "operado", "operada", "opere", "opéré",
    "family history", "fh ", "术后", "病史", "家族史", "既往",
)  # fmt: skip
"""What makes a disease one of the past, or of a relative."""
