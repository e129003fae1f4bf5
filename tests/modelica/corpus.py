"""Modelica texts that together have every rule of the grammar. Trees and printers are tested on them, and mutations."""
# ruff: noqa: E501

TEXTS = {
    "classes": """
within A.B;
encapsulated package P "description" + " in parts"
  import A.B; import C = A.B; import A.{D, E}; import F.G.*;
  partial model M extends N(a = 1, b(final start = 2) = 3); end M;
  type T = Real(unit = "m", min = 0);
  type Arr = Real[3, n] "text";
  type E = enumeration(one "first", two annotation(x=1), three);
  type Any = enumeration(:);
  connector C flow Real i; stream Real h; Real v; end C;
  expandable connector Bus end Bus;
  connector In = input Real;
  operator record Cx Real re; Real im; operator '+' function add input Cx a; output Cx b; algorithm b := a; end add; end '+'; end Cx;
  operator function neg end neg;
  function df = der(f, x, y);
  pure function f input Real x; output Real y; external "C" y = g(x, 1.0) annotation(Library = "g"); end f;
  impure function h external; end h;
  function k external "builtin"; end k;
  model extends X(p = 2) Real q; equation q = p; end X;
  replaceable package Medium = A.M constrainedby B.M(k = 1) "medium" annotation(choices(a = 1));
  redeclare final inner outer replaceable block Z = W(x = 2) constrainedby V;
  class 'quoted name 1' end 'quoted name 1';
  final model Q end Q;
protected
  constant Integer n = 3;
public
  record R Real a[:], b[2, :]; end R;
  annotation(Documentation(info = "<html>a \\"quote\\"</html>"), uses(M(version = "1")));
end P;
""",
    "components": """
model A
  extends B(redeclare model C = D(x = 1), redeclare final replaceable E e(k = 2) constrainedby F(y = 1), each final g.h(i = 3) = 4) annotation(x = 1);
  inner outer replaceable parameter input R r[3](each x = 1, y = {1, 2, 3}) = f() if cond and not other "text" annotation(Evaluate = true);
  flow discrete output Real a, b = 3, c(start = 1, fixed = true) "c";
  stream Real[n, 2] m[3];
  replaceable .Modelica.Units.SI.Mass mass = 2 constrainedby Real(min = 0) "mass" annotation(Dialog);
  Real x(stateSelect = StateSelect.prefer) := 3;
  final constant Real eps = 1e-3, big = 1.5E+10, small = .5, whole = 2.;
  String s = "a\\tb\\n\\\\" + 'q'.'r s'[1].t;
end A;
""",
    "equations": """
model A
initial equation
  x = 0;
initial algorithm
  y := 1;
equation
  der(x) = -x ^ 2 + 3 * (y - 1) / 2 "text" annotation(a = 1);
  connect(a[1].b, c.d) annotation(Line(points = {{0, 0}, {1, 1}}));
  (a, , b) = f(x, k = 2);
  assert(x > 0 and y < 1 or not z, "message" + String(x), AssertionLevel.warning);
  if a then x = 1; elseif b == c then x = 2; else x = 3; end if;
  if a then end if;
  for i in 1:n, j loop
    v[i, j] = sum(w[k] for k in 1:2:9) + u[end] + t[:, 2:end - 1, i + 1];
  end for;
  when {initial(), sample(0, 1)} then
    reinit(x, pre(x) + 1);
  elsewhen edge(b) then
    terminate("done");
  end when;
  0 = {i ^ 2 for i in 1:3} * [1, 2; 3, 4] .* x ./ y .^ z .+ a .- b;
  y = if a then 1 elseif b then 2 else if c then 3 else 4;
  (if a then 1 else 2) = z;
  p = integrate(function f(a = 1), 0, b = function g());
  q = (a + b)[1] + (f(x)).re + .A.B(2) + {};
  r = a <> b and c <= d or e >= f;
  s = -(-a) + (+b) - (a - (b - c)) / (d / e) ^ (f ^ g);
algorithm
  (x, , y) := f(1);
  while x > 1 loop
    x := x / 2;
    if x == 3 then break; end if;
  end while;
  for i loop a[i] := i; return; end for;
  when x > 2 then y := 1; end when;
  f(x);
  der(x);
end A;
""",
    "lexical": """/* a comment // within */ // another "with" 'quotes'
model A "" /**/ Real x=1.e3+2.5e-3-3E5+.1e1; String s="//no comment /* here */"; Real y(unit="")=x; equation end A; // end""",
}
