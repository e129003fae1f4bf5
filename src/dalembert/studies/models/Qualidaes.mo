package Qualidaes "Examples of section 5 of the paper on QUALIDAES: naive, and with all hidden constraints written out"

  model Pendulum "A mass point on a rod, in Cartesian coordinates; index 3"
    parameter Real m = 1 "mass";
    parameter Real L = 1 "length of the rod";
    parameter Real g = 13.7503716373295 "so that the period is 2";
    Real x(start = L), y(start = 0) "position";
    Real vx(start = 0), vy(start = 0) "velocity";
    Real lambda "multiplier of the rod";
  equation
    der(x) = vx;
    der(y) = vy;
    m*der(vx) = -2*x*lambda;
    m*der(vy) = -2*y*lambda - m*g;
    0 = x^2 + y^2 - L^2 "the rod keeps its length";
  end Pendulum;

  model PendulumWritten "The pendulum with the derivatives of its constraint: 7 equations for 5 unknowns"
    extends Pendulum;
  equation
    0 = 2*x*vx + 2*y*vy;
    0 = 2*(vx^2 + vy^2) + 2*x*(-2*x*lambda)/m + 2*y*(-2*y*lambda - m*g)/m;
  end PendulumWritten;

  model CarAxis "Two wheels on a bumpy road, joined by an axis; index 3"
    parameter Real M = 10 "mass", eps = 0.01, L = 1 "length of the axis", L0 = 0.5 "length of the springs at rest";
    parameter Real r = 0.1 "height of the bumps", w = 10 "their frequency";
    Real xl(start = 0), yl(start = 0.5) "left end";
    Real xr(start = 1), yr(start = 0.5) "right end";
    Real vxl(start = -0.5), vyl(start = 0), vxr(start = -0.5), vyr(start = 0) "their velocities";
    Real lam1(start = 0), lam2(start = 0) "multipliers";
    Real xb, yb "where the right wheel touches the road";
    Real left, right "lengths of the springs";
    Real fxl, fyl, fxr, fyr "forces on the ends";
  protected
    parameter Real mass = eps^2*M/2 "of one end";
  equation
    yb = r*sin(w*time);
    xb = (L^2 - yb^2)^0.5;
    left = (xl^2 + yl^2)^0.5;
    right = ((xr - xb)^2 + (yr - yb)^2)^0.5;
    fxl = (L0 - left)*xl/left + lam1*xb + 2*lam2*(xl - xr);
    fyl = (L0 - left)*yl/left + lam1*yb + 2*lam2*(yl - yr) - mass;
    fxr = (L0 - right)*(xr - xb)/right - 2*lam2*(xl - xr);
    fyr = (L0 - right)*(yr - yb)/right - 2*lam2*(yl - yr) - mass;
    der(xl) = vxl;
    der(yl) = vyl;
    der(xr) = vxr;
    der(yr) = vyr;
    mass*der(vxl) = fxl;
    mass*der(vyl) = fyl;
    mass*der(vxr) = fxr;
    mass*der(vyr) = fyr;
    0 = xb*xl + yb*yl "the left end moves along a line through the origin";
    0 = (xl - xr)^2 + (yl - yr)^2 - L^2 "the axis keeps its length";
  end CarAxis;

  model CarAxisWritten "The car axis with the derivatives of its constraints: 26 equations for 22 unknowns"
    extends CarAxis;
    Real dxb, dyb, ddxb, ddyb "derivatives of xb and yb";
  equation
    dyb = r*w*cos(w*time);
    ddyb = -r*w^2*sin(w*time);
    dxb = -yb*dyb/(L^2 - yb^2)^0.5;
    ddxb = -(dyb^2 + yb*ddyb)/(L^2 - yb^2)^0.5 - yb^2*dyb^2/(L^2 - yb^2)^1.5;
    0 = dxb*xl + xb*vxl + dyb*yl + yb*vyl;
    0 = 2*(xl - xr)*(vxl - vxr) + 2*(yl - yr)*(vyl - vyr);
    0 = ddxb*xl + 2*dxb*vxl + xb*fxl/mass + ddyb*yl + 2*dyb*vyl + yb*fyl/mass;
    0 = 2*(vxl - vxr)^2 + 2*(xl - xr)*(fxl - fxr)/mass + 2*(vyl - vyr)^2 + 2*(yl - yr)*(fyl - fyr)/mass;
  end CarAxisWritten;

end Qualidaes;
